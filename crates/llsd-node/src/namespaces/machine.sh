# The first process of a machine: sets up what it sees of files, cgroups and kernel settings, and then waits until
# standard input ends, which is when the process that started the node ends. With this process the kernel ends all
# others of the machine.
#   FOLDER=… of the machine   CGROUP=… its path in each hierarchy   DNS=… an address   HOSTS=… lines of /etc/hosts
set -eu
exec 3<&0

# /proc still shows the processes outside, and by which number they know this one.
read -r number_outside _ </proc/self/stat
mount -t proc proc /proc

# A machine that is switched on again finds its disk, and an empty /run.
rm -rf "$FOLDER/run" "$FOLDER/tmp"
mkdir -p "$FOLDER/run" "$FOLDER/log" "$FOLDER/tmp" "$FOLDER/kernel" "$FOLDER/cgroups"
# A new view of /sys shows the network devices of this machine; cgroups are hung back into it.
mount --rbind /sys/fs/cgroup "$FOLDER/cgroups"
mount -t sysfs sysfs /sys
mount --rbind "$FOLDER/cgroups" /sys/fs/cgroup
umount --lazy "$FOLDER/cgroups"

write() { if [ -e "$2" ]; then echo "$1" >"$2"; fi; }
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
	[ -e "$hierarchy/cgroup.procs" ] || continue
	path=$hierarchy
	for part in $(echo "$CGROUP" | tr / ' '); do
		for controller in $(cat "$path/cgroup.controllers" 2>/dev/null); do
			write "+$controller" "$path/cgroup.subtree_control" 2>/dev/null || true
		done
		[ -d "$path/$part" ] || mkdir "$path/$part"
		for file in cpuset.cpus cpuset.mems; do
			# Empty in a new group of version 1, where no process can join it then.
			if [ -e "$path/$file" ] && [ -e "$path/$part/$file" ] && [ ! -e "$path/cgroup.controllers" ]; then
				cat "$path/$file" >"$path/$part/$file"
			fi
		done
		path=$path/$part
		# Else all pods together weigh as much as a single process outside.
		write 4096 "$path/cpu.shares"
		write 400 "$path/cpu.weight"
	done
done

# What programs write goes to the folder: the files of the system stay as they are.
for part in etc var/lib; do
	changes=$FOLDER/$(echo "$part" | tr / -)
	mkdir -p "$changes/upper" "$changes/work"
	mount -t overlay overlay -o "lowerdir=/$part,upperdir=$changes/upper,workdir=$changes/work" "/$part"
done
mount --bind "$FOLDER/run" /run
mount --bind "$FOLDER/log" /var/log
rm -f /etc/resolv.conf /etc/hosts
echo "nameserver $DNS" >/etc/resolv.conf
printf '127.0.0.1 localhost\n%s\n' "$HOSTS" >/etc/hosts

# The kubelet wants these values for the whole system. It is shown them, so that it leaves the system's alone.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
	kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
	file=${setting%=*} shown=$FOLDER/kernel/$(echo "${setting%=*}" | tr / -)
	echo "${setting#*=}" >"$shown"
	[ ! -e "/proc/sys/$file" ] || mount --bind "$shown" "/proc/sys/$file"
done

# Volumes that the kubelet mounts have to reach containers that run already.
mount --make-rshared /
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
echo "$number_outside"

# `node stop` asks from outside.
trap 'exit 0' TERM
# `wait` reaps what containers leave to the first process; `read` alone would not.
{ read -r _ <&3 || true; } &
wait $!
