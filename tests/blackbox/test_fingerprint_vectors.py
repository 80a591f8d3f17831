"""Every pair of tests/vectors/fingerprint.json, sent through a running gate."""
import base64
import json
import pathlib

import pytest

from harness.client import assert_problem

VECTORS = pathlib.Path(__file__).resolve().parents[1] / 'vectors' / 'fingerprint.json'
PAIRS = json.loads(VECTORS.read_text())['requests']


def body_of(side):
    if 'body_base64' in side:
        return base64.b64decode(side['body_base64'])
    return side['body'].encode()


def send(gate, side, token):
    return gate.request(side['method'], side['path'], token=token, headers=side['headers'], body=body_of(side))


def is_created(response):
    return response.outcome == 'created'


@pytest.mark.parametrize('pair', PAIRS, ids=[p['name'] for p in PAIRS])
def test_pair(gate, upstream, token, pair):
    # Shows that what must be one intention is one effect, what differs a conflict, and that what
    # is refused leaves no record: its token still works.
    mark = upstream.mark()
    if pair['want'] in ('same', 'differ'):
        first, second = send(gate, pair['a'], token), send(gate, pair['b'], token)
        assert is_created(first), first
        if pair['want'] == 'same':
            assert second.outcome == 'replayed' and second.body == first.body, second
        else:
            assert_problem(second, 422, 'key-reused')
        assert upstream.effects(since=mark) == 1
        assert upstream.seen(since=mark)[0].body == body_of(pair['a'])
        return
    assert_problem(send(gate, pair['a'], token), 400, operation=False)
    if pair['want'] == 'refuse_both':
        assert_problem(send(gate, pair['b'], token), 400, operation=False)
        assert upstream.effects(since=mark) == 0
    else:
        assert is_created(send(gate, pair['b'], token))
        assert upstream.effects(since=mark) == 1


@pytest.mark.parametrize('pair', [p for p in PAIRS if p['want'] in ('same', 'differ')],
                         ids=[p['name'] for p in PAIRS if p['want'] in ('same', 'differ')])
def test_pair_the_other_way_round(gate, upstream, token, pair):
    # Shows that which of the two came first makes no difference.
    mark = upstream.mark()
    first, second = send(gate, pair['b'], token), send(gate, pair['a'], token)
    assert is_created(first), first
    assert second.outcome == ('replayed' if pair['want'] == 'same' else 'conflict'), second
    assert upstream.effects(since=mark) == 1
