#!/.guest/busybox sh
# The guest's first process: everything is in memory already. Runs /.guest/command, tells its exit status through the port
# named "text", sends what it left in /tmp/out through "files", and switches the machine off.
b=/.guest/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for m in $($b cat /.guest/order); do $b insmod /.guest/"$m".ko; done
# The emulator names the ports a moment after they are there.
until [ -e /.guest/text ] && [ -e /.guest/files ] && [ -e /.guest/log ]; do
  for p in /sys/class/virtio-ports/vport*; do
    [ ! -e "$p"/name ] || $b ln -sf /dev/"${p##*/}" /.guest/"$($b cat "$p"/name)"
  done
  $b usleep 10000
done
# No file system of its own: the tree that is tested may be below /tmp.
$b mount -o remount,size=90% /
$b chmod 1777 /tmp
$b mount -t tmpfs run /run
$b mkdir -p /dev/shm /dev/pts
$b ln -s /proc/self/fd /dev/fd
$b mount -t tmpfs -o mode=1777 shm /dev/shm
$b mount -t devpts pts /dev/pts
$b ifconfig lo 127.0.0.1
$b hostname guest
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8
cd /
/bin/bash /.guest/command >/.guest/text 2>&1 </dev/null
status=$?
[ -d /tmp/out ] && $b tar -C /tmp/out -cf /.guest/files .
$b printf '\n@@guest-exit %d@@\n' $status >/.guest/text
$b sync
$b poweroff -f
