"""The result object: one text of what is known of an action, the same in every language."""
from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Dict, Optional

from . import exact
from .answers import Finding
from .journal import Entry
from .wire import Reply

# Of the connection and its framing, not of the answer.
NOT_KEPT = {'connection', 'keep-alive', 'transfer-encoding', 'trailer', 'upgrade', 'content-length', 'te',
            'proxy-connection'}


class Result(dict):
    """What is known of an action. `content`: the answer's body as bytes, None where there is none."""
    content: Optional[bytes] = None


def told(entry: Entry, known: Finding, differs: Optional[str] = None) -> Result:
    """`differs`: a conflict that was found here, before anything was sent."""
    lines, status, content = entry.headers or '', entry.status, entry.body
    if known.answer and known.is_forgotten:  # a refusal, of which nothing is kept
        lines, status, content = header_lines(known.answer), known.answer.status, known.answer.body
    headers = headers_of(lines)
    result = Result(
        outcome=known.outcome, operation=entry.operation, token=entry.token, task=entry.task, step=entry.step,
        method=entry.method, url=entry.url, state=entry.state, status=status, headers=headers,
        **_body(None if entry.body_file else content), file=entry.body_file, gate=bool(entry.is_gate), attempts=entry.attempts,
        source=known.source, retry={'advice': known.advice, 'after': known.after}, reason=known.reason)
    is_elsewhere = content is None and entry.body_file and Path(entry.body_file).is_file()
    result.content = Path(entry.body_file).read_bytes() if entry.body_file and is_elsewhere else content
    if differs is not None:
        result.update(local=True, difference=differs, status=None, headers={}, body=None, file=None)
        result.pop('body_base64', None)
        result.content = None
    return result


def header_lines(answer: Reply) -> str:
    return ''.join(f'{name}: {value}\n' for name, value in answer.headers if name.lower() not in NOT_KEPT)


def headers_of(lines: str) -> Dict[str, str]:
    headers: Dict[str, str] = {}
    for line in lines.split('\n')[:-1]:
        name, _, value = line.partition(': ')
        known = next((each for each in headers if each.lower() == name.lower()), None)
        headers[known or name] = f'{headers[known]}, {value}' if known else value
    return headers


def _body(content: Optional[bytes]) -> Dict[str, Any]:
    """A value of its own where it is JSON of one reading, else text, else base64."""
    if content is None:
        return {'body': None}
    try:
        return {'body': exact.plain(exact.read(content))}
    except exact.NotJson:
        pass
    try:
        return {'body': content.decode('utf-8')}
    except UnicodeDecodeError:
        return {'body': None, 'body_base64': base64.b64encode(content).decode()}
