#!/bin/sh
# Succeeds where the node on this machine leads: for keepalived, and for whatever else asks by an exit code.
url=${HOLDFAST_URL:-http://127.0.0.1:7400}
role=${1:-scheduler}
curl --silent --fail --max-time 1 "$url/role?role=$role" | grep -q '"role":"LEADER"'
