#!/bin/bash
# TIMEOUT: 120
# Who may come in: strangers get nothing and delay nobody, one operator at a time.
. tests/agent/lib.sh
start_agent

command -v openssl >/dev/null || {
    echo "openssl, a stranger of this test, is not installed"
    exit 77
}
key=$(od -An -v -tx1 <ours.key | tr -d ' \n')

# Another key, no key, no TLS.
out=$(echo '{"type":"ping"}' | timeout 20 "$client" 127.0.0.1 "$port" foreign.key control --until x 2>&1)
check "a foreign key" "$out" "the other end must have the job's own key"
same "and not a message" "$(grep -c hello <<<"$out")" 0
out=$(echo | timeout 20 openssl s_client -connect "127.0.0.1:$port" -quiet 2>&1)
check "no key" "$out" "alert"
same "and not a byte" "$(grep -c hello <<<"$out")" 0
exec {fd}<>"/dev/tcp/127.0.0.1/$port"
{ printf 'GET / HTTP/1.1\r\n\r\n' >&"$fd"; } 2>/dev/null
same "no TLS" "$(timeout 20 cat <&"$fd" 2>/dev/null | wc -c)" 0
exec {fd}>&-
out=$(echo | timeout 20 openssl s_client -connect "127.0.0.1:$port" -tls1_2 -psk "$key" -psk_identity "paceline job" 2>&1)
check "an older TLS" "$out" "alert"

# With the key, but no messages: garbage, and a message before hello.
raw() { timeout 20 openssl s_client -connect "127.0.0.1:$port" -psk "$key" -psk_identity "paceline job" -quiet 2>/dev/null; }
same "garbage" "$( (printf 'hello, agent'; sleep 1) | raw | wc -c)" 0
first() { # LINE CHANNEL: the answer to a first message
    echo "$1" | timeout 20 "$client" 127.0.0.1 "$port" ours.key "$2" --until refused
}
check "no hello" "$(first '{"type":"world"}' none)" "a connection begins with hello"
check "another protocol" "$(first '{"type":"hello","protocol":2,"channel":"control"}' none)" "protocol 1 only"
check "another channel" "$(first '' party)" 'must be \"control\" or \"exec\"'
check "a message it does not know" "$(talk refused '{"type":"weather"}' "$(world 1 p-7)")" "this pod is"

# A crowd that says nothing: more than may shake hands at a time.
crowd=()
for _ in $(seq 100); do
    exec {fd}<>"/dev/tcp/127.0.0.1/$port"
    crowd+=("$fd")
done
mode start wait
check "in a crowd" "$(talk "$(phase 2 training)" "$(world 2)")" "$(phase 2 training)"
most=$(ls "/proc/$agent_pid/fd" | wc -l)
if [ "$most" -gt 60 ]; then fail "the crowd holds $most descriptors of the agent"; fi
for fd in "${crowd[@]}"; do exec {fd}>&-; done

# A second operator ends the first one's connection.
talk "another operator has connected" >first &
operator=$!
until_true test -s first
talk '"type":"hello"' >/dev/null
wait "$operator"
check "the first operator" "$(<first)" "another operator has connected"
check "the run goes on" "$(talk "$(phase 2 stopped)" "$(order stop 2)")" "stopped after step 12"

# Daemons of a generation that is over, or of no daemon's name.
exec_line() { echo "{\"type\":\"exec\",\"generation\":$1,\"pod\":\"p-0\",\"host\":\"h-0\",\"job\":{},\"argv\":[\"sh\"]}"; }
check "an old daemon" "$(first "$(exec_line 1)" exec)" "generation 1: a higher one was seen"
check "no daemon" "$(first "$(exec_line 3)" exec)" '"refused"'
check "the fence has risen" "$(talk '"type":"hello"')" '"generation":3,"run":2,'
verdict
