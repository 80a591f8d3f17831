"""An nginx in front of the same upstream: the reader whose strictness the gate has to match."""
import pathlib
import shutil
import subprocess
import time

from .client import Connection
from .upstream import new_listener

PROGRAM = shutil.which('nginx') or '/usr/sbin/nginx'
CONFIG = """
daemon off;
master_process off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  client_header_timeout 2s;
  client_body_timeout 2s;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{upstream};
      proxy_http_version 1.1;
      proxy_next_upstream off;
    }}
  }}
}}
"""


class Nginx:
    def __init__(self, directory, upstream):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        holder = new_listener(0)
        self.port = holder.getsockname()[1]
        holder.close()
        config = self.directory / 'nginx.conf'
        config.write_text(CONFIG.format(directory=self.directory, port=self.port, upstream=upstream.port))
        self.process = subprocess.Popen([PROGRAM, '-p', str(self.directory), '-c', str(config)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()

    def _wait(self):
        deadline = time.monotonic() + 10
        while True:
            try:
                Connection(self.port).close()
                return
            except OSError:
                assert self.process.poll() is None, self.errors()
                assert time.monotonic() < deadline, self.errors()
                time.sleep(0.05)

    def errors(self):
        log = self.directory / 'error.log'
        return log.read_text() if log.exists() else 'nginx did not start'

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
