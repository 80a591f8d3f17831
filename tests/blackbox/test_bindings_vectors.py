"""The bindings against tests/vectors/call.json: spellings, tokens and payloads are the program's, to the byte."""
import json

import pytest

from harness.gate import ROOT
from harness.speakers import BINDINGS

VECTORS = json.loads((ROOT / 'tests' / 'vectors' / 'call.json').read_text())
URL = 'https://api.example.test/v1/payments'
by_binding = pytest.mark.parametrize('speaker', BINDINGS, ids=repr)


def agree(speaker, vectors, question, expected):
    """Ask all of a kind at once; those whose answer is another one, by what was asked."""
    answers = speaker.ask('pure', questions=[question(vector) for vector in vectors])
    return [(vector, answer) for vector, answer in zip(vectors, answers) if answer != expected(vector)]


@by_binding
def test_urls(speaker):
    # Shows that every URL has the program's spelling, or is refused as there.
    assert agree(speaker, VECTORS['urls'], lambda v: ['url', v['url']], lambda v: v.get('spelled')) == []


@by_binding
def test_steps(speaker):
    # Shows the same for methods, names of tasks and steps, and tokens given by hand.
    assert agree(speaker, VECTORS['methods'], lambda v: ['step', 't', 's', v['method'], URL],
                 lambda v: ['t', 's', v['spelled'], URL] if v.get('spelled') else None) == []
    assert agree(speaker, VECTORS['names'], lambda v: ['step', v['task'], v['step'], 'POST', URL],
                 lambda v: None if v['refused'] else [v['task'], v['step'], 'POST', URL]) == []
    assert agree(speaker, VECTORS['hand_tokens'], lambda v: ['key', v['written']], lambda v: v.get('token')) == []


@by_binding
def test_tokens_and_marks(speaker):
    # Shows that a step has the program's token, and a credential its mark.
    assert agree(speaker, VECTORS['tokens'], lambda v: ['token', v['task'], v['step'], v['method'], v['url']],
                 lambda v: v['token']) == []
    assert agree(speaker, VECTORS['marks'], lambda v: ['mark', v['token'], v['authorization']],
                 lambda v: v['mark']) == []


def payload_question(vector):
    body = vector.get('body_hex')
    return ['payload', vector['content_type'], vector['body'].encode().hex() if body is None else body, vector['token']]


@by_binding
def test_payloads(speaker):
    # Shows that a body has the program's payload, and its members their digests.
    answers = speaker.ask('pure', questions=[payload_question(vector) for vector in VECTORS['payloads']])
    for vector, (digest, members) in zip(VECTORS['payloads'], answers):
        members = json.loads(members) if members else None
        assert digest == vector['payload'], vector
        if 'member_count' in vector:
            assert len(members) == vector['member_count'], vector
        else:
            assert members == vector['members'], vector


@by_binding
def test_differences(speaker):
    # Shows that two payloads of one token differ in the program's words.
    questions = []
    for vector in VECTORS['differences']:
        questions.append(['payload', 'application/json', vector['before'].encode().hex(), 't'])
        questions.append(['payload', vector.get('after_type') or 'application/json', vector['after'].encode().hex(), 't'])
    members = [found for _, found in speaker.ask('pure', questions=questions)]
    pairs = list(zip(members[::2], members[1::2]))
    texts = speaker.ask('pure', questions=[['difference', *pair] for pair in pairs])
    assert texts == [vector['text'] for vector in VECTORS['differences']]
