# Subscribe as client $1 with quality of service $2, and keep the subscription if the connection breaks.
exec mosquitto_sub -h s0 -t news -q "$2" -i "host$1" --disable-clean-session -k 5
