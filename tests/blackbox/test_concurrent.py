"""Many at once under one token: one effect, and everybody learns the truth."""
import concurrent.futures

from harness.client import assert_problem
from harness.upstream import Hold, answer, held

MANY = 50


def at_once(count, function):
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, range(count)))


def test_fifty_copies_are_one_effect(gate, upstream, path, token):
    # Shows that of 50 simultaneous copies one is sent; all others are told so, or get its answer.
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(MANY) as pool:
        waiting = [pool.submit(gate.post, path, token) for _ in range(MANY)]
        hold.wait_entered()
        done, _ = concurrent.futures.wait(waiting, timeout=5,
                                          return_when=concurrent.futures.ALL_COMPLETED)
        assert len(done) == MANY - 1, 'only the one that was sent may still wait'
        hold.release()
        answers = [f.result() for f in waiting]
    created = [a for a in answers if a.outcome == 'created']
    assert len(created) == 1 and created[0].status == 201
    for other in answers:
        if other is not created[0]:
            assert_problem(other, 409, 'operation-running', advice={'wait', 'query'})
            assert (other.outcome, other.state) == ('running', 'running')
            assert other.operation == created[0].operation
            assert int(other.one('Retry-After')) >= 0
    assert upstream.effects(path) == 1
    assert gate.post(path, token).body == created[0].body
    assert upstream.effects(path) == 1


def test_copies_that_race_a_fast_service(gate, upstream, path, token):
    # Shows the same without a hold, round after round: created once, else running or replayed.
    for round in range(20):
        answers = at_once(12, lambda n: gate.post(f'{path}-{round}', f'{token}-{round}'))
        outcomes = [a.outcome for a in answers]
        assert outcomes.count('created') == 1, outcomes
        assert set(outcomes) <= {'created', 'running', 'replayed'}, outcomes
        assert upstream.effects(f'{path}-{round}') == 1
        assert len({a.operation for a in answers}) == 1
        assert len({a.body for a in answers if a.status == 201}) == 1


def test_copies_that_differ_have_one_winner(gate, upstream, path, token):
    # Shows that simultaneous different bodies under one token run once; the others are conflicts.
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        waiting = [pool.submit(gate.post, path, token, json={'n': n}) for n in range(10)]
        hold.wait_entered()
        concurrent.futures.wait(waiting, timeout=2)
        hold.release()
        answers = [f.result() for f in waiting]
    assert sorted(a.outcome for a in answers) == ['conflict'] * 9 + ['created']
    assert upstream.effects(path) == 1


def test_different_tokens_run_side_by_side(gate, upstream, path, token):
    # Shows that a slow operation holds up nobody else's.
    hold = Hold()
    upstream.plan(path, held(hold))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        slow = pool.submit(gate.post, path, token)
        hold.wait_entered()
        answers = at_once(20, lambda n: gate.post(f'{path}-other', f'{token}-{n}'))
        assert [a.outcome for a in answers] == ['created'] * 20
        assert not slow.done()
        hold.release()
        assert slow.result().outcome == 'created'
    assert upstream.effects(f'{path}-other') == 20


def test_waiters_get_one_answer_when_it_fails(gate, upstream, path, token):
    # Shows that two waiters of one duplicate do not become two executions when the first fails.
    hold = Hold()
    upstream.plan(path, held(hold, answer(422, body=b'no')))
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        first = pool.submit(gate.post, path, token)
        hold.wait_entered()
        waiters = [pool.submit(gate.post, path, token, headers={'Prefer': 'wait=10'}) for _ in range(10)]
        concurrent.futures.wait(waiters, timeout=0.5)
        hold.release()
        answers = [w.result() for w in waiters]
    assert first.result().status == 422
    assert {(a.status, a.outcome, a.body) for a in answers} == {(422, 'replayed', b'no')}
    assert upstream.effects(path) == 1


def test_waiters_do_not_run_after_not_sent(gate, upstream, path, token):
    # Shows that when the first turns out not to have been sent, waiters make one further effect at most.
    hold = Hold()
    upstream.plan(path, held(hold, answer(503, body=b'busy', works=False)))
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        first = pool.submit(gate.post, path, token)
        hold.wait_entered()
        waiters = [pool.submit(gate.post, path, token, headers={'Prefer': 'wait=5'}) for _ in range(8)]
        concurrent.futures.wait(waiters, timeout=0.5)
        hold.release()
        answers = [w.result() for w in waiters]
    assert first.result().outcome == 'not_sent'
    assert {a.outcome for a in answers} <= {'created', 'replayed', 'running', 'not_sent', 'queued'}
    assert upstream.effects(path) <= 1
    final = gate.post(path, token)
    assert final.outcome in ('created', 'replayed') and final.status == 201
    assert upstream.effects(path) == 1
