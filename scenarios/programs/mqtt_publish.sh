# Publish a message every second for $1 seconds with quality of service $2. Receivers print the payload.
n=0
while [ "$n" -lt "$1" ]; do
  echo "broadcast $n"
  echo "deliver 0 $n" # the publisher delivers its own message at once
  mosquitto_pub -h s0 -t news -q "$2" -m "deliver 0 $n" &
  n=$((n + 1))
  sleep 1
done
wait
