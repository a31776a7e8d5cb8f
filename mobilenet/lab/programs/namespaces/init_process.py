"""The first process of a node, which creates its namespaces, starts its program, and ends both.

Model     The supervisor starts this process, with a socket to the emulator as its standard input. The process creates
          new user, network, mount, PID, IPC and UTS namespaces, and forks. The child is process 1 in these namespaces.
          It sets up a device mob0, names, a file system that hides the user's files, and limits. Then it passes the
          device to the emulator. When the socket closes, process 1 ends, and the kernel kills all other processes in
          the namespaces. Process 1 keeps its capabilities. Ordinary programs have no capabilities, so they can neither
          trace nor signal it. Programs that run as root lack only two capabilities, and cannot trace it. With a process
          and an order as arguments, this program runs a command in namespaces that already exist
Asked     One packet of JSON at the start (Order), and then the numbers of signals for all processes. The answers are
          {"pid"}, then {"ready"} with the device's descriptor, or {"error"}; later {"ended": code} and {"over": limit}
Units     megabytes and bytes, as names show
Source    Linux: user_namespaces(7), pid_namespaces(7), mount_namespaces(7), Documentation/networking/tuntap.rst; ours:
          docs/guide/real-software.md. It uses only the standard library
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import termios
import time
from typing import Any, NoReturn

CLONE_ALL = 0x10000000 | 0x40000000 | 0x00020000 | 0x20000000 | 0x08000000 | 0x04000000  # user net mount PID IPC UTS
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 1 << 12, 1 << 14, 1 << 18
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
CAP_SYS_PTRACE, CAP_SYS_ADMIN = 19, 21  # These allow a program to trace process 1, or to unmount file systems.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFMTU = 0x8913, 0x8914, 0x8916, 0x891C, 0x8922
IFF_UP, IFF_MULTICAST = 0x1, 0x1000
NETLINK_ROUTE, RTM_NEWROUTE, NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE = 0, 24, 0x1, 0x4, 0x400
RTN_UNICAST, RT_TABLE_MAIN, RT_SCOPE_LINK, RTPROT_BOOT, RTA_DST, RTA_OIF = 1, 254, 253, 3, 1, 4
DEVICE = b"mob0"
MOST_DESCRIPTORS = 4096
LOOK_MS = 250  # time between two checks of the limits
OVER_S = 0.2  # Killed programs are given this much time to end before the next check.
HIDDEN = ("/home", "/root", "/run", "/tmp", "/var/tmp", "/dev/shm")
# These flags are locked outside the namespaces, so a new mount must keep them.
KEPT_FLAGS = ((os.ST_NOSUID, MS_NOSUID), (os.ST_NODEV, MS_NODEV), (os.ST_NOEXEC, MS_NOEXEC))
FORBIDDING = (  # system settings, each with the value that forbids ordinary users from creating namespaces
    ("kernel.unprivileged_userns_clone", "0"),
    *((f"user.max_{kind}_namespaces", "0") for kind in ("user", "net", "mnt", "pid", "ipc", "uts")),
    ("kernel.apparmor_restrict_unprivileged_userns", "1"),
)
Order = dict[str, Any]  # address, mask, mtu, hosts, name, command or None, folder, shown, users, become, and limits

libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """Raised if the system does not allow an operation. The message is one line."""


def call(name: str, *arguments: Any) -> None:
    """Call a function of the C library. Raise OSError if it fails."""
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = (None if text is None else os.fsencode(text) for text in (source, target, kind))
    call("mount", *texts, ctypes.c_ulong(flags), None if data is None else data.encode())


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def enter_namespaces(order: Order) -> None:
    """Continue in a child of this process, which has new namespaces. The parent waits for the child, and then ends."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            call("unshare", CLONE_ALL)
        except OSError as error:
            raise Refused(f"new namespaces are not allowed: {error.strerror}{forbidden_by()}") from None
        theirs.send(b"?")
        if theirs.recv(1) != b"!":
            raise Refused(f"the system does not allow user IDs to be mapped{forbidden_by()}")
        theirs.close()
        return
    theirs.close()
    if ours.recv(1):
        with contextlib.suppress(OSError):
            map_users(child, order)
            ours.send(b"!")
    wait_for(child)


def wait_for(child: int) -> NoReturn:
    """Close all descriptors, wait for the child, and end."""
    os.close(0)
    os.closerange(3, MOST_DESCRIPTORS)
    os.waitpid(child, 0)
    os._exit(0)


def map_users(child: int, order: Order) -> None:
    """Map users and groups, each given as (inside, outside). Only root may map other users and drop groups."""
    if order["become"] is None:
        write(f"/proc/{child}/setgroups", "deny")
    for kind in ("uid", "gid"):
        write(f"/proc/{child}/{kind}_map", "".join(f"{inside} {outside} 1\n" for inside, outside in order["users"]))


def become(user: int) -> None:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def forbidden_by() -> str:
    """Return the names of the system settings that forbid namespaces, as a string for a message."""
    for name, value in FORBIDDING:
        try:
            with open("/proc/sys/" + name.replace(".", "/")) as file:
                if file.read().strip() == value:
                    return f", because {name} is {value}"
        except OSError:
            continue
    return "; if mobilenet runs in a container, start the container with fewer restrictions"


# --- the network


def new_device(order: Order) -> int:
    """Create mob0, configure it, and return its descriptor."""
    try:
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", DEVICE, IFF_TUN | IFF_NO_PI))
    except OSError as error:
        raise Refused(
            f"/dev/net/tun: {error.strerror}; the kernel module tun must be loaded, and this file must be accessible"
        ) from None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up(any_socket, b"lo", 0)
        for code, value in ((SIOCSIFADDR, order["address"]), (SIOCSIFNETMASK, order["mask"])):
            name = struct.pack("16sH2x4s8x", DEVICE, socket.AF_INET, socket.inet_aton(value))
            fcntl.ioctl(any_socket, code, name)
        fcntl.ioctl(any_socket, SIOCSIFMTU, struct.pack("16si12x", DEVICE, order["mtu"]))
        setting = f"/proc/sys/net/ipv6/conf/{DEVICE.decode()}/disable_ipv6"
        if os.path.exists(setting):  # The file is missing if the MTU is below 1280, which is too small for IPv6.
            write(setting, "1")
        up(any_socket, DEVICE, IFF_MULTICAST)
    add_route("224.0.0.0", 4)
    add_route("255.255.255.255", 32)
    return tun


def up(any_socket: socket.socket, device: bytes, flags: int) -> None:
    request = struct.pack("16sh22x", device, 0)
    present = struct.unpack("16sh22x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", device, present | flags | IFF_UP))


def add_route(network: str, bits: int) -> None:
    """Add a route through mob0 by a message of rtnetlink(7)."""
    kinds = RT_TABLE_MAIN, RTPROT_BOOT, RT_SCOPE_LINK, RTN_UNICAST
    payload = struct.pack("BBBBBBBBI", socket.AF_INET, bits, 0, 0, *kinds, 0)
    device = struct.pack("I", socket.if_nametoindex(DEVICE.decode()))
    for attribute, value in ((RTA_DST, socket.inet_aton(network)), (RTA_OIF, device)):
        payload += struct.pack("HH", 4 + len(value), attribute) + value
    head = struct.pack("IHHII", 16 + len(payload), RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE) as kernel:
        kernel.send(head + payload)
        number = -int(struct.unpack_from("i", kernel.recv(4096), 16)[0])
    if number:
        raise OSError(number, f"route to {network}: {os.strerror(number)}")


def allow_ordinary_users(group: int) -> None:
    """Allow programs to use ping and ports below 1024 without special permission."""
    write("/proc/sys/net/ipv4/ping_group_range", f"{group} {group}")
    write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")


# --- the file system


def hide_files(order: Order, folders: list[tuple[int, str]]) -> None:
    """Mount empty file systems over the files of the user, and then mount `folders` in them. The first folder is
    writable, and the others are read-only. The descriptor of each folder was opened before.
    """
    size = f"size={order['output_mb']}m,mode=1777"
    for path in dict.fromkeys(os.path.realpath(path) for path in (*HIDDEN, order["home"])):
        if os.path.isdir(path) and path != "/":
            mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, size)
    for name, text in (("hosts", order["hosts"]), ("resolv.conf", "# no name server\n")):
        target = os.path.realpath(f"/etc/{name}")
        if os.path.exists(target):
            write(f"/tmp/.{name}", text)
            mount(f"/tmp/.{name}", target, None, MS_BIND)
            os.unlink(f"/tmp/.{name}")
    for place, (descriptor, path) in enumerate(folders):
        if not same_file(descriptor, path):  # The folder is hidden.
            os.makedirs(path, exist_ok=True)
            mount(f"/proc/self/fd/{descriptor}", path, None, MS_BIND | MS_REC)
            if place:
                mount_flags = os.statvfs(path).f_flag
                flags = sum(flag for of_stat, flag in KEPT_FLAGS if mount_flags & of_stat)
                mount("none", path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | flags)
        os.close(descriptor)


def same_file(descriptor: int, path: str) -> bool:
    try:
        status, there = os.fstat(descriptor), os.stat(path)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (there.st_dev, there.st_ino)


# --- processes


def start(order: Order, command: list[str], terminal: int | None, keeps_input: bool = False) -> int:
    """Start a program of the node. It cannot gain privileges that its user does not have."""
    started = os.fork()
    if started:
        return started
    try:
        os.setsid()
        if terminal is None and not keeps_input:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        if terminal is not None:
            os.dup2(terminal, 0)
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            os.dup2(0, 1)
            os.dup2(0, 2)
        os.closerange(3, MOST_DESCRIPTORS)
        os.chdir(order["folder"])
        limit(order)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        if order["become"] is not None:
            become(order["become"])
        for capability in (CAP_SYS_PTRACE, CAP_SYS_ADMIN):  # This restricts programs that run as root.
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        os.execvpe(command[0], command, {**os.environ, "HOME": "/tmp", "TMPDIR": "/tmp"})
    except BaseException as error:
        # A ValueError means that a limit exceeds the hard limit. Exceptions must not unwind the copied stack.
        os.write(2, f"{command[0]}: cannot be started: {getattr(error, 'strerror', error)}\n".encode())
    os._exit(127)


def limit(order: Order) -> None:
    memory_bytes, output_bytes = order["memory_mb"] << 20, order["output_mb"] << 20
    resource.setrlimit(resource.RLIMIT_NPROC, (order["processes"] + 1,) * 2)  # The limit also counts process 1.
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (output_bytes,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def over_limit(order: Order) -> str | None:
    """Return the limit that all processes together exceed, or None. Memory is first checked by a fast upper bound."""
    own = [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    if len(own) > order["processes"]:
        return "processes"
    most_bytes = order["memory_mb"] << 20
    if sum(map(resident_bytes, own)) <= most_bytes or sum(map(proportional_bytes, own)) <= most_bytes:
        return None
    return "memory_mb"


def resident_bytes(process: str) -> int:
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):  # The process has ended.
        return 0


def proportional_bytes(process: str) -> int:
    """Return the bytes of a process, with each shared page divided equally among the processes that share it."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration, IndexError, ValueError):
        return resident_bytes(process)


def reap(program: int | None) -> tuple[int | None, int | None]:
    """Reap the processes that have ended. Return the program or None, and its exit code if it has just ended."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return program, code
        if pid == 0:
            return program, code
        if pid == program:
            program, code = None, os.waitstatus_to_exitcode(status)


def live(control: socket.socket, order: Order, terminal: int | None) -> None:
    """Act as process 1, until the emulator closes the socket."""
    program = start(order, order["command"], terminal) if order["command"] else None
    if terminal is not None:
        os.close(terminal)
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    while True:
        if waiting.poll(LOOK_MS):
            number = control.recv(64)
            if not number:
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, int(number))
        program, code = reap(program)
        if code is not None:
            answer_with(control, {"ended": code})
        if (exceeded := over_limit(order)) is not None:
            os.kill(-1, signal.SIGKILL)
            answer_with(control, {"over": exceeded})
            time.sleep(OVER_S)


def answer_with(control: socket.socket, answer: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
    with contextlib.suppress(OSError):  # The emulator may have ended.
        socket.send_fds(control, [json.dumps(answer).encode()], descriptors)


def be_first(control: socket.socket, order: Order, terminal: int | None) -> None:
    try:
        folders = [(os.open(one, os.O_PATH), one) for one in (order["folder"], *order["shown"]) if os.path.isdir(one)]
        if order["become"] == 0:
            become(0)  # The system's root could open all folders above, but is not mapped in the namespaces.
        # The setting comes after the change of user, because the change would clear it.
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        mount("none", "/", None, MS_REC | MS_PRIVATE)
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        tun = new_device(order)
        allow_ordinary_users(order["group"])
        hide_files(order, folders)
        name = order["name"].encode()
        call("sethostname", name, len(name))
    except OSError as error:
        raise Refused(f"the namespaces could not be set up: {error}{forbidden_by()}") from None
    answer_with(control, {"ready": True}, (tun,))
    os.close(tun)
    live(control, order, terminal)


def enter(pid: int, order: Order) -> int:
    """Run a command in the namespaces of the machine whose first process is `pid`, and return its exit code. If the
    order contains `on_terminal`, the standard input is a pseudo-terminal, which becomes the command's terminal.
    """
    kinds = ("user", "mnt", "pid", "net", "ipc", "uts")
    try:
        for descriptor in [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in kinds]:
            call("setns", descriptor, 0)
            os.close(descriptor)
    except OSError as error:
        os.write(2, f"the namespaces of the node cannot be entered: {error.strerror}\n".encode())
        return 2
    child = start(order, order["command"], 0 if order["on_terminal"] else None, keeps_input=True)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code  # Shells report a signal in this way.


def main() -> None:
    if sys.argv[1:]:
        sys.exit(enter(int(sys.argv[1]), json.loads(sys.argv[2])))
    control = socket.socket(fileno=os.dup(0))
    data, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 1)
    order = json.loads(data)
    try:
        enter_namespaces(order)
        first = os.fork()
        if first == 0:
            be_first(control, order, descriptors[0] if descriptors else None)
            os._exit(0)
    except Refused as error:
        answer_with(control, {"error": str(error)})
        os._exit(1)
    answer_with(control, {"pid": first})
    wait_for(first)


if __name__ == "__main__":
    main()
