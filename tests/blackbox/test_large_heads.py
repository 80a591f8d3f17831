"""Heads as large as the configuration can let them in."""
from harness.client import build
from harness.gate import config, head_lines

HEAD_MAX = 128 * 1024


def test_a_large_head_goes_on_whole(start_gate, upstream, path, token, account):
    # Shows that with limits.max_head at its most every header line of a head just under it reaches
    # the service, the last one too: a write that lost its credential on the way is another write.
    gate = start_gate(upstream, config(upstream, limits={'max_head': '128KiB'}))
    padding = [(f'X-Padding-{n}', 'p' * 8000) for n in range(16)]
    so_far = len(build('POST', path, head_lines(token, account, padding, {}), host=f'127.0.0.1:{gate.port}'))
    padding.append(('X-Last', 'q' * (HEAD_MAX - so_far - len('X-Last: ' + 'Content-Length: 2') - 8)))
    response = gate.post(path, token, account=account, headers=padding)
    assert response.outcome == 'created', response
    seen = upstream.last(path)
    assert seen.get('Authorization') == account
    assert [seen.get(name) for name, _ in padding] == [value for _, value in padding]
    assert seen.get('X-Request-Id') == response.one('X-Request-Id')
    assert upstream.effects(path) == 1
