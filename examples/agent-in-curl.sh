#!/bin/sh
# An agent in plain curl: what an agent says to the leader, without any library.
#
#   HOLDFAST_TOKEN=... sh examples/agent-in-curl.sh http://127.0.0.1:7400 curl-agent
#
# It waits for a job, tells how far it is, reports the result, and waits for the next. It follows the leader, and goes on after
# every kind of failure. The token is one of role agent with the agent's name:
#
#   holdfast token create --role agent --name curl-agent
set -eu

seed=${1:?the address of a node, like http://127.0.0.1:7400}
agent=${2:-curl-agent}
leader=$seed

# Posts $2 to $1. The answer is in $answer, and its status in $status: 000 where nobody answered. The token goes by standard input,
# because every process of the machine can read arguments.
post() {
  said=$(
    printf 'header = "authorization: Bearer %s"\n' "${HOLDFAST_TOKEN:-none}" |
      curl --silent --config - --max-time 70 --header 'content-type: application/json' \
        --data "$2" --write-out '\n%{http_code}' "$leader$1"
  ) || true
  status=$(printf '%s' "$said" | tail -n 1)
  answer=$(printf '%s' "$said" | sed '$d')
}

# A field of the answer, from what comes before the payload: that may have fields of any name.
field() {
  printf '%s' "${answer%%\"payload\"*}" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

# After anything but success: whoever does not lead says who does; else a moment later, at the address we began with.
look_further() {
  told=$(field leader_url)
  if [ "$status" = 409 ] && [ -n "$told" ] && [ "$told" != null ]; then
    echo "$leader does not lead, $told does"
    leader=$told
  else
    leader=$seed
    sleep 1
  fi
}

# Sends a result until a leader has answered to it. The same again is accepted once. 409 with a job_epoch means that the lease was lost:
# another agent has the job, and this result counts no more.
report() {
  while :; do
    post /v1/results "$1"
    case $status in
      200) echo "$job: $(field state)" && return ;;
      409) [ "$(field field)" = job_epoch ] && echo "$job: too late" && return ;;
      4??) echo "$job: refused, $answer" && return ;;
    esac
    look_further
  done
}

registers=true
while :; do
  post /v1/agents/heartbeat "{\"agent\":\"$agent\",\"registers\":$registers}"
  if [ "$status" != 200 ]; then
    look_further
    continue
  fi
  registers=false
  post /v1/leases "{\"agent\":\"$agent\",\"capabilities\":[],\"max_tasks\":1,\"timeout_ms\":15000}"
  case $status in
    200) ;;
    204) continue ;;
    *) look_further && continue ;;
  esac

  lease=$(field lease_id) job=$(field job_id) job_epoch=$(field job_epoch) op=$(field op)
  about="\"lease_id\":\"$lease\",\"job_id\":\"$job\",\"job_epoch\":$job_epoch"
  echo "$job: $op, epoch $job_epoch"

  # Work that takes longer renews its lease well before ttl_ms is over. The progress is for whoever waits.
  post "/v1/leases/$lease/renew" "{\"agent\":\"$agent\",\"progress\":[{\"job_id\":\"$job\",\"progress\":\"half\"}]}"

  case $op in
    hello) report "{$about,\"status\":\"succeeded\",\"result\":\"hello from $agent\"}" ;;
    *) report "{$about,\"status\":\"failed\",\"error\":\"this agent does not know $op\",\"retry\":false}" ;;
  esac
done
