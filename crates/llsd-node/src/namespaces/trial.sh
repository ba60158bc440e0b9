# Tries what a node needs, and prints what this machine refuses, one line for each. It cleans up behind itself also when
# the process that started it is killed meanwhile.
#   sh -c "$trial" trial FOLDER "$trial"   (the folder is made on the disk where nodes have theirs)
folder=$1
try() {
	what=$1
	shift
	said=$("$@" 2>&1) || echo "$what ($(echo "$said" | head -n 1))"
}

if [ $# = 1 ]; then # in namespaces of its own
	try "mounting /proc" mount -t proc proc /proc
	try "mounting /sys" mount -t sysfs sysfs "$folder/merged"
	try "overlayfs in $folder" mount -t overlay overlay \
		-o "lowerdir=$folder/lower,upperdir=$folder/upper,workdir=$folder/work" "$folder/merged"
	try "network bridges" ip link add name trial type bridge
	try "pairs of network devices" ip link add name trial-1 type veth peer name trial-2
	try "forwarding packets" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	echo tried
	exit
fi

trap '' PIPE
mkdir -p "$folder/lower" "$folder/upper" "$folder/work" "$folder/merged"
said=$(unshare --mount --net --pid --ipc --fork --propagation private -- sh -c "$2" trial "$folder" 2>&1)
case $said in
*tried) echo "$said" | sed '$d' ;;
*) echo "private namespaces ($(echo "$said" | head -n 1))" ;;
esac
hierarchy=
for each in /sys/fs/cgroup /sys/fs/cgroup/memory; do
	[ ! -e "$each/cgroup.procs" ] || hierarchy=$each
done
group=$hierarchy/${folder##*/}
if [ -z "$hierarchy" ]; then
	echo "control groups (none in /sys/fs/cgroup)"
else
	try "control groups" mkdir "$group"
	rmdir "$group" 2>/dev/null
fi
rm -rf --one-file-system "$folder"
