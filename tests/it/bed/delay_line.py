"""A line with a length: two TUN devices, one in each of two network namespaces. What goes in at one end
comes out at the other after DELAY ± JITTER milliseconds, in order. Says "ready" once both are up.

    delay_line.py NAMESPACE DEVICE NAMESPACE DEVICE DELAY JITTER
"""

import collections
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000


def device(namespace, name):
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    # The descriptor stays attached to the device wherever that goes.
    subprocess.run(["ip", "link", "set", name, "netns", namespace], check=True)
    subprocess.run(["ip", "-n", namespace, "link", "set", name, "up"], check=True)
    return tun


def packets(tun):
    while True:
        try:
            yield os.read(tun, 65536)
        except BlockingIOError:
            return


def main():
    here, device_here, there, device_there = sys.argv[1:5]
    delay, jitter = (float(text) / 1000 for text in sys.argv[5:7])
    ends = [device(here, device_here), device(there, device_there)]
    # Per direction: (when it is due, packet), oldest first.
    on_the_way = [collections.deque(), collections.deque()]
    print("ready", flush=True)
    while True:
        due = [queue[0][0] for queue in on_the_way if queue]
        patience = max(0.0, min(due) - time.monotonic()) if due else None
        readable, _, _ = select.select(ends, [], [], patience)
        now = time.monotonic()
        for tun in readable:
            queue = on_the_way[ends.index(tun)]
            for packet in packets(tun):
                at = now + delay + random.uniform(-jitter, jitter)
                queue.append((max(at, queue[-1][0]) if queue else at, packet))
        for direction, queue in enumerate(on_the_way):
            while queue and queue[0][0] <= now:
                try:
                    os.write(ends[1 - direction], queue.popleft()[1])
                except OSError:
                    pass  # A full device loses packets, as lines do.


main()
