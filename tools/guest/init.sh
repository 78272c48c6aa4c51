#!/bin/busybox sh
# The guest's first process: finds the disks by their serial numbers, runs /in/.guest-command in the root, tells its exit
# status through the port named "out", and switches the machine off.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for m in $($b cat /lib/order); do $b insmod /lib/"$m".ko; done
for d in /sys/block/vd*; do
  s=$($b cat "$d"/serial)
  [ -n "$s" ] && eval "$s=/dev/${d##*/}"
done
for p in /sys/class/virtio-ports/vport*; do
  [ "$($b cat "$p"/name)" = out ] && port=/dev/${p##*/}
done
$b mount -t ext4 -o noatime "$root" /root
$b mount --move /dev /root/dev
$b mount --move /proc /root/proc
$b mount --move /sys /root/sys
$b mount -t tmpfs -o mode=1777 tmp /root/tmp
$b mount -t tmpfs run /root/run
$b mkdir -p /root/dev/shm /root/dev/pts
$b mount -t tmpfs -o mode=1777 shm /root/dev/shm
$b mount -t devpts pts /root/dev/pts
$b mount -t ext4 -o noatime "/root$in" /root/in
$b ifconfig lo 127.0.0.1
$b hostname guest
environment='export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8'
$b chroot /root /bin/bash -c "$environment; cd /in; . ./.guest-command" >"/root$port" 2>&1 </root/dev/null
status=$?
[ -d /root/tmp/out ] && $b tar -C /root/tmp/out -cf "/root$out" .
$b printf '\n@@guest-exit %d@@\n' $status >"/root$port"
$b umount /root/in
$b sync
$b poweroff -f
