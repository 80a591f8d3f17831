"""What is measured: an upstream, nginx in front of it, and the gate in front of it.

Each service is a process of ours in a session of its own (so that Ctrl-C reaches the bench
alone, which then stops them), on loopback, with its files in the bench's folder. It can say
how much CPU it has used and how much memory it has needed, its children included.
"""
import http.client
import os
import pathlib
import pwd
import re
import signal
import socket
import subprocess
import time

START_S = 60
STOP_S = 40                     # the gate finishes what runs, for at most 30 s
TICKS = os.sysconf('SC_CLK_TCK')

ANSWER = ('{"id":"tkt_0001","project":"apollo","title":"The third valve of tank two sticks",'
          '"state":"open","created":"2025-01-01T00:00:00Z"}')


def free_address():
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        return f'127.0.0.1:{sock.getsockname()[1]}'


def get(address, path, headers=None):
    """(status, text) of one GET."""
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request('GET', path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def family(pid):
    """The process and all below it."""
    pids = [pid]
    for task in pathlib.Path(f'/proc/{pid}/task').glob('*/children'):
        for child in task.read_text().split():
            pids += family(int(child))
    return pids


class Service:
    def __init__(self, name, folder, command):
        self.name = name
        self.folder = folder
        self.log = folder / 'log'
        self.address = free_address()
        self.command = command
        self.process = None
        self.pids = []

    def start(self, address, path, status):
        """Start it; seconds until `path` gives `status`."""
        began = time.monotonic()
        with self.log.open('ab') as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        while time.monotonic() - began < START_S:
            if self.process.poll() is not None:
                break
            try:
                if get(address, path)[0] == status:
                    self.pids = family(self.process.pid)
                    return time.monotonic() - began
            except OSError:
                pass
            time.sleep(0.002)
        raise RuntimeError(f'{self.name} did not start:\n{self.log.read_text()[-2000:]}')

    def stop(self, how=signal.SIGTERM):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            for pid in family(self.process.pid):
                os.kill(pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def cpu_us(self):
        """User and system time so far."""
        ticks = 0
        for pid in self.pids:
            fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks * 1e6 / TICKS

    def peak_kib(self):
        """The most that was resident; for several processes, the sum of theirs."""
        total = 0
        for pid in self.pids:
            status = pathlib.Path(f'/proc/{pid}/status').read_text()
            total += int(re.search(r'^VmHWM:\s*(\d+) kB', status, re.MULTILINE).group(1))
        return total


NGINX = '''
daemon off;
{user}
worker_processes {workers};
worker_rlimit_nofile 16384;
pid {folder}/pid;
error_log {folder}/error.log error;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    server_tokens off;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{rest}
}}
'''

UPSTREAM = '''
    server {{
        listen {address} backlog=4096;
        location / {{
            default_type application/json;
            add_header Location /v1/tickets/tkt_0001;
            return 201 '{answer}';
        }}
        location = {status} {{ stub_status; }}
    }}
'''

PLAIN_PROXY = '''
    server {{
        listen {address} backlog=4096;
        location / {{ proxy_pass http://{upstream}; }}
        location = {status} {{ stub_status; }}
    }}
'''

KEEPALIVE_PROXY = '''
    upstream service {{
        server {upstream};
        keepalive 256;
        keepalive_requests 1000000000;
    }}
    server {{
        listen {address} backlog=4096;
        location / {{
            proxy_pass http://service;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
        location = {status} {{ stub_status; }}
    }}
'''


STATUS = '/nginx_status'
IDLE_S = 0.05
IDLE_TRIES = 600


class Nginx(Service):
    def __init__(self, name, folder):
        super().__init__(name, folder, ['nginx', '-p', str(folder), '-e', f'{folder}/error.log',
                                        '-c', f'{folder}/nginx.conf'])
        self.asked = 0          # of its requests, how many were ours
        folder.mkdir()

    def configure(self, rest):
        user = f'user {pwd.getpwuid(0).pw_name};' if os.getuid() == 0 else ''
        (self.folder / 'nginx.conf').write_text(NGINX.format(
            user=user, workers=os.cpu_count(), folder=self.folder, rest=rest))

    def start(self):
        return super().start(self.address, STATUS, 200)

    def status(self):
        """(clients connected, requests in work, requests so far), this one included."""
        text = get(self.address, STATUS)[1]
        found = re.search(r'Active connections: (\d+).*requests\s+\d+ \d+ (\d+)\s+'
                          r'Reading: (\d+) Writing: (\d+)', text, re.DOTALL)
        clients, requests, reading, writing = (int(number) for number in found.groups())
        self.asked += 1
        return clients, reading + writing, requests


class Upstream(Nginx):
    """Answers every write at once with the same small JSON, and counts them."""

    def __init__(self, folder):
        super().__init__('upstream', folder)
        self.configure(UPSTREAM.format(address=self.address, answer=ANSWER, status=STATUS))

    def count(self):
        """Requests so far, without ours; once none has come for a while."""
        before = -1
        for _ in range(IDLE_TRIES):
            _, busy, requests = self.status()
            requests -= self.asked
            if busy <= 1 and requests == before:
                return requests
            before = requests
            time.sleep(IDLE_S)
        raise RuntimeError('the upstream is still busy long after the load')


class Proxy(Nginx):
    """The reverse proxy that the gate is compared with: as `proxy_pass` comes, or tuned to keep
    its connections to the upstream."""

    def __init__(self, name, folder, upstream, server):
        super().__init__(name, folder)
        self.configure(server.format(address=self.address, upstream=upstream.address,
                                     status=STATUS))

    def wait_until_idle(self, held=0):
        """Until it is done with requests whose client left when its time was up."""
        for _ in range(IDLE_TRIES):
            clients, busy, _ = self.status()
            if clients <= 1 + held and busy <= 1:
                return
            time.sleep(IDLE_S)
        raise RuntimeError('nginx is still busy long after the load')


# The writes of load.lua's kind `rules`: each of them finds its business and its lock free.
RULES = '''
actions:
  tickets.create:
    route: POST /v1/tickets
    fields:
      project: {type: string, required: true}
      title: {type: string, required: true, max_length: 200}
      priority: {type: string, enum: [low, normal, high], default: normal}
      reporter: {type: string}
      labels: {type: array, items: {type: string}}
      source_event_id: {type: string, required: true}
      valve: {type: string, required: true}
      estimate: {type: money, currency: currency, unit: major, required: true}
      currency: {type: string, required: true}
      urgent: {type: boolean}
    unique: {by: [project, source_event_id], for: 30d}
    lock: {on: [valve]}
'''


class Gate(Service):
    """The gate with its defaults, but for the line it logs for every request."""

    def __init__(self, name, folder, upstream, binary, actions=''):
        super().__init__(name, folder, [str(binary), 'serve', '--config', f'{folder}/gate.yaml'])
        folder.mkdir(exist_ok=True)
        self.admin = free_address()
        (folder / 'gate.yaml').write_text(
            f'listen: {self.address}\nadmin: {self.admin}\ndata: {folder}/data\n'
            f'upstreams:\n  default: {{url: "http://{upstream.address}"}}\n'
            'log: {requests: false}\n' + actions)

    def start(self):
        return super().start(self.admin, '/readyz', 200)

    def metrics(self):
        """Counters by name, labels included."""
        token = (self.folder / 'data' / 'admin-token').read_text().strip()
        text = get(self.admin, '/metrics', {'Authorization': f'Bearer {token}'})[1]
        return {found.group(1): float(found.group(2))
                for found in re.finditer(r'^counterfoil_(\S+) (\S+)$', text, re.MULTILINE)}

    def wait_until_idle(self, held=0):
        """As for nginx; the metrics then."""
        for _ in range(IDLE_TRIES):
            metrics = self.metrics()
            if metrics['requests_open'] == 0 and metrics['connections_open'] <= held:
                return metrics
            time.sleep(IDLE_S)
        raise RuntimeError(f'{self.name} is still busy long after the load')
