# Makes the folder and the cgroups of a node, runs its first machine, and removes both when that has ended, however it
# ends. Nothing else of a node can outlive its processes: mounts and network devices go with their namespaces.
#   sh -c "$janitor" janitor FOLDER MACHINE_SCRIPT [variables of the machine…]   standard input: see the machine's script
set -u
folder=$1 script=$2
shift 2
name=${folder##*/}
mkdir -m 0700 "$folder" || exit 1
# Held by the machine too: as long as something lives, no other process takes the folder for one that was left behind.
exec 9>"$folder/lock"
flock --nonblock 9 || exit 1

unshare --mount --net --pid --ipc --fork --propagation private -- env "$@" sh -c "$script" machine

# The first process of a PID namespace ends after all others of it, so there is none left. A cgroup may stay busy for a
# moment after that.
attempt=0
while [ $attempt -lt 50 ]; do
	left=
	for cgroup in "/sys/fs/cgroup/$name" /sys/fs/cgroup/*/"$name"; do
		[ -d "$cgroup" ] || continue
		find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null
		[ ! -d "$cgroup" ] || left=1
	done
	[ -n "$left" ] || break
	attempt=$((attempt + 1))
	sleep 0.1
done
rm -rf --one-file-system -- "$folder"
