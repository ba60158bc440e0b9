# Tries in namespaces of its own what a node needs, and prints what this machine refuses, one line for each.
#   sh -c "$trial" trial FOLDER   (an empty one, on the disk where nodes have theirs)
folder=$1
try() {
	what=$1
	shift
	said=$("$@" 2>&1) || echo "$what ($(echo "$said" | head -n 1))"
}
try "mounting /proc" mount -t proc proc /proc
try "mounting /sys" mount -t sysfs sysfs "$folder"
umount "$folder" 2>/dev/null
mkdir "$folder/lower" "$folder/upper" "$folder/work" "$folder/merged"
try "overlayfs in $folder" mount -t overlay overlay \
	-o "lowerdir=$folder/lower,upperdir=$folder/upper,workdir=$folder/work" "$folder/merged"
try "network bridges, which connect pods" ip link add name trial type bridge
try "pairs of network devices" ip link add name trial-1 type veth peer name trial-2
try "forwarding packets" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
