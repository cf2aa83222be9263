#!/bin/bash
# Programs of any image find each other: a rendezvous by MASTER_ADDR, RANK and WORLD_SIZE over TCP, names
# that resolve, the hostfile, TensorFlow's TF_CONFIG, and the example as it is.
# TIMEOUT: 300
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
cluster_test
cluster_debian
paceline_images
paceline_install

# As torch.distributed does it: rank 0 listens, the others come, everybody gets the sum of what all
# have brought. Each says by which name it can be found, which must lead to where it comes from.
cat >"$dir/rendezvous.pl" <<'PERL'
use strict;
use IO::Socket::INET;
$| = 1;
my ($rank, $size, $host, $port) = @ENV{qw(RANK WORLD_SIZE MASTER_ADDR MASTER_PORT)};
open my $file, '<', $ENV{PACELINE_HOSTFILE} or die "hostfile: $!";
my @hosts = <$file>;
print "hostfile: $_" for @hosts;
my ($own) = split ' ', $hosts[$rank];
my $sum = $rank + 1;
if ($rank == 0) {
    my $server = IO::Socket::INET->new(LocalPort => $port, Listen => 16, ReuseAddr => 1) or die $!;
    my %peers;
    while (keys %peers < $size - 1) {
        my $peer = $server->accept or next;
        my ($theirs, $name, $gradient) = split ' ', scalar <$peer>;
        my $address = join '.', unpack 'C4', scalar gethostbyname $name;
        die "$name is $address, but comes from " . $peer->peerhost if $address ne $peer->peerhost;
        $peers{$theirs} = $peer;
        $sum += $gradient;
    }
    print $_ "$sum\n" for values %peers;
} else {
    my $master;
    until ($master = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port)) {
        select undef, undef, undef, 0.2;
    }
    print $master "$rank $own $sum\n";
    chomp($sum = <$master>);
}
print "rank $rank of $size: $sum\n";
PERL
t create configmap programs --from-file="$dir/rendezvous.pl" >/dev/null

{
    cat <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: rendezvous}
spec:
  replicas:
    worker:
      replicas: 3
      template:
        spec:
          securityContext: {runAsUser: 1000}
          containers:
          - name: trainer
            image: $cluster_image
            command: [perl, /programs/rendezvous.pl]
            volumeMounts: [{name: programs, mountPath: /programs}]
            resources: {requests: {cpu: 50m}, limits: {cpu: "2"}}
          volumes: [{name: programs, configMap: {name: programs}}]
  runPolicy: {successPolicy: AllWorkers, cleanPodPolicy: None}
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: tf}
spec:
  replicas:
JOB
    for role in chief:1 worker:2 ps:1 evaluator:1; do
        cat <<ROLE
    ${role%:*}:
      replicas: ${role#*:}
      template:
        spec:
          securityContext: {runAsUser: 1000}
          containers:
          - name: tensorflow
            image: $cluster_image
            command: [sh, -c, 'echo "\$TF_CONFIG"']
            resources: {requests: {cpu: 50m}}
ROLE
    done
    echo "  runPolicy: {cleanPodPolicy: None}"
    echo ---
    sed "s|image: debian:stable-slim|image: $cluster_image|" examples/any-image.yaml
} | apply
await rendezvous Succeeded
await tf Succeeded

log() { t logs "$1-0"; }
hosts=
for i in 0 1 2; do hosts+="hostfile: rendezvous-worker-$i.rendezvous.$name.svc slots=2"$'\n'; done
for i in 0 1 2; do
    same "rank $i" "$(log "rendezvous-worker-$i")" "${hosts}rank $i of 3: 6"
done

host() { echo "\"tf-$1-$2.tf.$name.svc:2222\""; }
tf_cluster="{\"chief\":[$(host chief 0)],\"evaluator\":[$(host evaluator 0)],\"ps\":[$(host ps 0)],\"worker\":[$(host worker 0),$(host worker 1)]}"
for task in chief:0 worker:0 worker:1 ps:0 evaluator:0; do
    want="{\"cluster\":$tf_cluster,\"task\":{\"type\":\"${task%:*}\",\"index\":${task#*:}},\"environment\":\"cloud\"}"
    until_same "TF_CONFIG of $task" "$want" log "tf-${task/:/-}" # the chief may be the first to end
done

await any-image Succeeded
same "the example" "$(log any-image-worker-1)" \
    "worker 1 of 2, led by any-image-worker-0.any-image.$name.svc"
verdict
