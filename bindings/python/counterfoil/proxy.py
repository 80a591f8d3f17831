"""Which proxy a request goes through: the one of the options, else the environment's, as curl has it.

Decisions alone: the environment is given. `http_proxy` counts in lower case only, since a web server
hands out a header "Proxy" under the other name.
"""
from __future__ import annotations

import ipaddress
import re
from typing import Mapping, Optional
from urllib.parse import urlsplit

PORT = 1080                         # of a proxy that names none, as curl has it


def proxy_for(url: str, proxy: Optional[str], no_proxy: Optional[str], environ: Mapping[str, str]) -> Optional[str]:
    """The proxy's URL, or None. `proxy`: "" is none at all, None the environment's; so `no_proxy`."""
    parts = urlsplit(url)
    if proxy is None:
        proxy = _of_environment(parts.scheme, environ)
    if no_proxy is None:
        no_proxy = environ.get('no_proxy') or environ.get('NO_PROXY') or ''
    if not proxy or is_exempt(parts.hostname or '', no_proxy):
        return None
    return proxy if '://' in proxy else f'http://{proxy}'


def _of_environment(scheme: str, environ: Mapping[str, str]) -> str:
    names = [f'{scheme}_proxy', *([] if scheme == 'http' else [f'{scheme}_proxy'.upper()]), 'all_proxy', 'ALL_PROXY']
    return next((environ[name] for name in names if environ.get(name)), '')


def is_exempt(host: str, no_proxy: str) -> bool:
    """Is a host, or an address without its brackets, one of those that are reached without a proxy?"""
    if no_proxy == '*':
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.lower().rstrip('.')
        return any(_is_below(name, each) for each in re.split('[ \t,]+', no_proxy))
    return any(_is_in(address, each) for each in re.split('[ \t,]+', no_proxy))


def _is_below(name: str, wanted: str) -> bool:
    """The very name, or one below it; a dot before it or behind it does not count."""
    wanted = re.sub(r'^\.|\.$', '', wanted.lower())
    return bool(wanted) and (name == wanted or name.endswith('.' + wanted))


def _is_in(address: 'ipaddress._BaseAddress', wanted: str) -> bool:
    """The very address, or one of a network such as 192.168.0.0/16."""
    try:
        return address in ipaddress.ip_network(wanted, strict=False)
    except ValueError:
        return False
