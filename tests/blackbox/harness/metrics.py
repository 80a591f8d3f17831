"""/metrics, read by the rules of its format."""
import re

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^{}]*\})? (-?[0-9.eE+-]+|NaN|[+-]Inf)( [0-9]+)?$')


def samples(gate):
    """Every sample of /metrics: name with labels → value; the format is checked."""
    response = gate.operator('/metrics')
    assert response.status == 200
    assert response.one('Content-Type').startswith(('text/plain', 'application/openmetrics-text'))
    values = {}
    for line in response.body.decode().splitlines():
        if line and not line.startswith('#'):
            match = SAMPLE.match(line)
            assert match, line
            key = match[1] + (match[2] or '')
            assert key not in values, f'twice: {key}'
            values[key] = float(match[3])
    return values


def sample(gate, name):
    """One sample, its name without the prefix."""
    return samples(gate)['counterfoil_' + name]
