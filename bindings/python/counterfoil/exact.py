"""JSON that loses nothing, and its canonical text.

Two texts mean the same exactly when their canonical texts are equal: RFC 8785 in structure,
escapes and order of members, with numbers as exact decimals instead of doubles. What could be
read in two ways (a name twice, half a surrogate pair, a byte-order mark) is refused.
"""
from __future__ import annotations

import re
from typing import Any, List, Tuple

DEPTH_MAX = 128
DIGITS_MAX = 64
EXPONENT_MAX = 307
VALUES_MAX = 1_000_000

_SPACE = re.compile(r'[ \t\n\r]*')
_NUMBER = re.compile(r'(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?')
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_ESCAPED = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t'))
_LITERALS = {'null': None, 'true': True, 'false': False}
_WRITTEN = {'"': '\\"', '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t'}


class NotJson(ValueError):
    """The text is no JSON, or could be read in two ways."""


class Number:
    """(-1)^is_negative × 0.digits × 10^point, digits without zeros at either end."""

    def __init__(self, is_negative: bool, digits: str, point: int) -> None:
        self.is_negative, self.digits, self.point = is_negative, digits, point

    def __str__(self) -> str:
        """As ECMAScript prints numbers, with all digits."""
        digits, point = self.digits, self.point
        if not digits:
            return '0'
        sign = '-' if self.is_negative else ''
        if point > 21 or point <= -6:
            tail = '.' + digits[1:] if len(digits) > 1 else ''
            return f'{sign}{digits[0]}{tail}e{point - 1:+d}'
        if point <= 0:
            return sign + '0.' + '0' * -point + digits
        if point >= len(digits):
            return sign + digits + '0' * (point - len(digits))
        return f'{sign}{digits[:point]}.{digits[point:]}'


def read(data: bytes) -> Any:
    """A tree of dict, list, str, Number, bool and None. NotJson when it is none."""
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError as error:
        raise NotJson('not UTF-8') from error
    reader = _Reader(text)
    value = reader.value(1)
    if reader.skip() != len(text):
        raise NotJson(f'something follows the value at {reader.at}')
    return value


def canonical(value: Any) -> str:
    """The one text of a tree."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode('utf-16-be'))
        return '{' + ','.join(f'{_quoted(name)}:{canonical(item)}' for name, item in members) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(canonical, value)) + ']'
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Number):
        return str(value)
    return {None: 'null', True: 'true', False: 'false'}[value]


def leaves(value: Any, pointer: str = '') -> List[Tuple[str, str]]:
    """(JSON pointer, canonical text) of each scalar and each empty object or array."""
    if isinstance(value, dict) and value:
        children = [(name.replace('~', '~0').replace('/', '~1'), item) for name, item in value.items()]
    elif isinstance(value, list) and value:
        children = [(str(index), item) for index, item in enumerate(value)]
    else:
        return [(pointer, canonical(value))]
    return [leaf for name, item in children for leaf in leaves(item, f'{pointer}/{name}')]


def plain(value: Any) -> Any:
    """The tree as Python's own json module would give it: numbers are int or float."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Number):
        return int(str(value)) if len(value.digits) <= value.point <= 21 or not value.digits \
            else float(str(value))
    return value


def _quoted(text: str) -> str:
    return '"' + re.sub(r'["\\\x00-\x1f]', lambda found: _WRITTEN.get(found[0])
                        or f'\\u{ord(found[0]):04x}', text) + '"'


class _Reader:
    """One walk over the text; as deep as DEPTH_MAX."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.values = text, 0, 0

    def skip(self) -> int:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.at

    def value(self, depth: int) -> Any:
        self.values += 1
        if self.values > VALUES_MAX:
            raise NotJson('too many values')
        first = self.text[self.skip():self.at + 1]
        if first in ('{', '['):
            if depth > DEPTH_MAX:
                raise NotJson('too deep')
            self.at += 1
            return self.object(depth) if first == '{' else self.array(depth)
        if first == '"':
            return self.string()
        for word, meaning in _LITERALS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return meaning
        return self.number()

    def closes(self, bracket: str, is_first: bool) -> bool:
        """Is this the end of an array or object? If not, what follows is its next part."""
        if self.takes(bracket):
            return True
        if not is_first and not self.takes(','):
            raise NotJson(f'no comma at {self.at}')
        return False

    def takes(self, mark: str) -> bool:
        found = self.text.startswith(mark, self.skip())
        self.at += len(mark) if found else 0
        return found

    def array(self, depth: int) -> List[Any]:
        items: List[Any] = []
        while not self.closes(']', not items):
            items.append(self.value(depth + 1))
        return items

    def object(self, depth: int) -> dict:
        members: dict = {}
        while not self.closes('}', not members):
            if not self.text.startswith('"', self.skip()):
                raise NotJson(f'no name at {self.at}')
            name = self.string()
            if name in members:
                raise NotJson(f'a name twice: {name}')
            if not self.takes(':'):
                raise NotJson(f'no colon at {self.at}')
            members[name] = self.value(depth + 1)
        return members

    def string(self) -> str:
        pieces = []
        self.at += 1
        while True:
            found = _PLAIN.match(self.text, self.at)
            pieces.append(found[0])  # type: ignore[index]
            self.at = found.end()    # type: ignore[union-attr]
            if self.text.startswith('"', self.at):
                break
            escape = _ESCAPE.match(self.text, self.at)
            if not escape:
                raise NotJson(f'a string that does not end at {self.at}')
            pieces.append(_ESCAPED[escape[1]] if escape[1] else chr(int(escape[2], 16)))
            self.at = escape.end()
        self.at += 1
        try:  # pairs of surrogates become one character; half of one cannot
            return ''.join(pieces).encode('utf-16-le', 'surrogatepass').decode('utf-16-le')
        except UnicodeDecodeError as error:
            raise NotJson('half a surrogate pair') from error

    def number(self) -> Number:
        found = _NUMBER.match(self.text, self.at)
        if not found:
            raise NotJson(f'no value at {self.at}')
        self.at = found.end()
        sign, whole, fraction, exponent = found.groups(default='')
        digits = (whole + fraction).lstrip('0')
        if not digits:
            return Number(False, '', 0)
        point = len(whole) - (len(whole + fraction) - len(digits)) + _bounded(exponent)
        digits = digits.rstrip('0')
        if len(digits) > DIGITS_MAX or abs(point - 1) > EXPONENT_MAX:
            raise NotJson('a number beyond the limits')
        return Number(sign == '-', digits, point)


def _bounded(exponent: str) -> int:
    """An exponent; one of more than 15 digits is as good as that."""
    sign = -1 if exponent.startswith('-') else 1
    digits = exponent.lstrip('+-').lstrip('0')
    return sign * (int(digits or '0') if len(digits) <= 15 else 10 ** 15)
