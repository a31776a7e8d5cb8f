#!/bin/sh
# Download a page again and again for so many seconds; print how long each download took.
end=$(($(date +%s) + $2))
while [ "$(date +%s)" -lt "$end" ]; do
  curl --silent --max-time 20 --output /dev/null --write-out '%{http_code} %{size_download} bytes in %{time_total} s\n' "$1" || true
  sleep 0.2
done
