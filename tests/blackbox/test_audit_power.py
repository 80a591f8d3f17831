"""Power cuts while the audit log grows: nothing stays that was not synced, neither contents nor names."""
import pytest

from harness.fault import FOREVER, Machine, needs_machine
from harness.gate import config
from harness.rules import eventually
from test_audit import close, verify
from test_audit_crash import NEVER, OFTEN, check, compare, gap
from test_crash import Crowd

pytestmark = needs_machine


@pytest.fixture
def cut(start_gate, upstream, number, tmp_path):
    """cut(audit, writes): a gate that loses power after so many writes, started again and checked. Its gap."""
    def cut(audit, writes, call=0):
        machine = Machine(tmp_path, tmp_path / 'data')
        machine.keep_synced()
        gate = start_gate(None, config(upstream, audit=audit), data=tmp_path / 'data', env=machine.env)
        gate.post(f'/v1/power-{number}', f'power-{number}')
        close(gate)
        gate.start()
        crowd = Crowd(gate, f'power-{number}')
        eventually(lambda: crowd.count > writes, what=f'{writes} writes', seconds=60)
        machine.arm('kill', 1 + call, FOREVER)
        crowd.join()
        eventually(lambda: not gate.is_running, what='the end')
        gate.kill9()
        machine.cut_power()
        machine.disarm()
        found = gap(gate)
        compare(gate)
        gate.start()
        check(gate, upstream, crowd.told, every=7)
        return found
    return cut


def test_while_nothing_is_published(cut):
    # Shows that what bundles alone keep lasts, names and all, and the log goes on from it: also when
    # the bundles after it, whose rows are still there, do not last yet.
    assert cut(NEVER, 1950) > 0


@pytest.mark.parametrize('call', range(0, 15, 7))
def test_while_all_is_published(cut, call):
    # Shows the same between a tile, its folder, a checkpoint and the database.
    cut(OFTEN, 40, call)


@pytest.mark.long
@pytest.mark.parametrize('call', range(60))
@pytest.mark.parametrize('audit', [NEVER, OFTEN], ids=['never', 'often'])
def test_at_many_calls(cut, audit, call):
    # Shows the same at each of many calls.
    cut(audit, 1200 + 40 * call if audit is NEVER else 20 * call, call)
