# Publish a message each second for $1 seconds with quality of service $2. The payload is what receivers print.
n=0
while [ "$n" -lt "$1" ]; do
  echo "broadcast $n"
  echo "deliver 0 $n" # it knows its own message
  mosquitto_pub -h s0 -t news -q "$2" -m "deliver 0 $n" &
  n=$((n + 1))
  sleep 1
done
wait
