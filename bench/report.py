"""What was measured: medians, ratios, goals, as Markdown and as JSON."""
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import time

median = statistics.median

# (what, key of figures(), whether more is better, the bound): at 64 connections.
GOALS = [
    ('first writes, of nginx\'s rate', 'first_ratio', True, 0.45),
    ('replays, of nginx\'s rate', 'replay_ratio', True, 0.8),
    ('CPU of a first write, in nginx\'s', 'first_cpu_ratio', False, 3.3),
    ('CPU of a first write under rules, of the same one undeclared', 'rules_cpu_ratio', False, 1.25),
    ('CPU of a first write, of the same without audit log and sealing', 'protection_cpu_ratio', False, 1.2),
    ('first writes with all that stored, of the rate without', 'stored_first_ratio', True, 0.8),
    ('replays with all that stored, of the rate without', 'stored_replay_ratio', True, 0.8),
    ('peak memory under 1,000 connections with all that stored, in MiB', 'memory_mib', False,
     64),
]
GOAL_CONNECTIONS = 64


def first_line(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=10, check=False)
    return done.stdout.split('\n')[0].strip()


def machine(binary):
    model = re.search(r'^model name\s*: (.*)$', pathlib.Path('/proc/cpuinfo').read_text(),
                      re.MULTILINE)
    return {'processor': model.group(1) if model else platform.machine(),
            'cores': os.cpu_count(), 'kernel': platform.release(),
            'counterfoil': first_line(str(binary), '--version'),
            'nginx': first_line('nginx', '-v').partition('/')[2],
            'wrk': first_line('wrk', '-v').split()[1], 'time': time.strftime('%FT%TZ', time.gmtime())}


def rounds_of(result, target, kind, connections):
    return [seen for seen in result['rounds']
            if (seen['target'], seen['kind'], seen['connections']) == (target, kind, connections)]


def ratio(result, one, other, kind, connections, key='rate'):
    """The median of the rounds' ratios; None where one of them was not measured."""
    pairs = list(zip(rounds_of(result, one, kind, connections),
                     rounds_of(result, other, kind, connections)))
    if not pairs or not all(b[key] for _, b in pairs):
        return None
    return median(a[key] / b[key] for a, b in pairs)


def figures(result):
    """The numbers that GOALS speaks of."""
    found = {}
    for kind in ('first', 'replay'):
        at = (kind, GOAL_CONNECTIONS)
        found[f'{kind}_ratio'] = ratio(result, 'gate', 'nginx', *at)
        found[f'{kind}_cpu_ratio'] = ratio(result, 'gate', 'nginx', *at, key='cpu_us')
        found[f'stored_{kind}_ratio'] = ratio(result, 'gate, stored', 'gate', *at)
    for key, what in (('rules_ratio', 'rate'), ('rules_cpu_ratio', 'cpu_us')):
        found[key] = ratio(result, 'gate, rules', 'gate, undeclared', 'rules', GOAL_CONNECTIONS,
                           what)
    if result['options'].get('against', '').endswith('-unprotected'):
        found['protection_cpu_ratio'] = ratio(result, 'gate', 'gate, against', 'first', GOAL_CONNECTIONS,
                                              'cpu_us')
    if 'memory_kib' in result:
        found['memory_mib'] = max(result['memory_kib'].values()) / 1024
    return found


def judged_goals(result):
    """(what, value, bound in words, whether it holds) of each goal that was measured."""
    numbers = figures(result)
    for what, key, more_is_better, bound in GOALS:
        value = numbers.get(key)
        if value is not None:
            holds = value >= bound if more_is_better else value <= bound
            yield what, value, f'{"≥" if more_is_better else "≤"} {bound}', holds


def missed_goals(result):
    return [what for what, _, _, holds in judged_goals(result) if not holds]


def table(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|' + ' --- |' * len(head)]
    return lines + ['| ' + ' | '.join(row) + ' |' for row in rows]


def load_rows(result):
    order = []
    for seen in result['rounds']:
        at = (seen['kind'], seen['connections'], seen['target'])
        if at not in order:
            order.append(at)
    for kind, connections, target in order:
        rounds = rounds_of(result, target, kind, connections)

        def middle(key):
            return median(seen[key] for seen in rounds)

        beside = [ratio(result, target, 'nginx', kind, connections, key)
                  for key in ('rate', 'cpu_us')]
        yield [kind, str(connections), target, f'{middle("rate"):,.0f}',
               f'{middle("p50_us") / 1000:.2f}', f'{middle("p99_us") / 1000:.2f}',
               f'{middle("cpu_us"):.1f}', f'{middle("upstream_cpu_us"):.1f}',
               f'{middle("wrk_cpu_us"):.1f}',
               *('' if target == 'nginx' or one is None else f'{one:.2f}' for one in beside)]


def commit_lines(result):
    """What the store's transactions were like, at each gate's first writes."""
    for kind, connections, target in dict.fromkeys(
            (seen['kind'], seen['connections'], seen['target']) for seen in result['rounds']):
        rounds = rounds_of(result, target, kind, connections)
        if kind != 'replay' and all('commit_us' in seen for seen in rounds):
            yield (f'- {kind}, {target}, {connections} connections: '
                   f'{median(seen["commands_a_commit"] for seen in rounds):.0f} commands a '
                   f'commit, {median(seen["commit_us"] for seen in rounds):.0f} µs each')


def rules_lines(result):
    """What the rules of an action cost: beside the same writes where none is declared."""
    for connections in result['options']['connections']:
        rate, cpu = (ratio(result, 'gate, rules', 'gate, undeclared', 'rules', connections, key)
                     for key in ('rate', 'cpu_us'))
        if rate is not None and cpu is not None:
            yield f'- {connections} connections: CPU {cpu:.2f}, rate {rate:.2f}'


def against_lines(result):
    """This build beside the other one."""
    for kind in ('first', 'replay'):
        for connections in result['options']['connections']:
            rate, cpu = (ratio(result, 'gate', 'gate, against', kind, connections, key)
                         for key in ('rate', 'cpu_us'))
            if rate is not None and cpu is not None:
                yield f'- {kind}, {connections} connections: CPU {cpu:.2f}, rate {rate:.2f}'


def stored_lines(result):
    stored, start = result['stored'], result['start_s']
    lines = [f'{stored["operations"]:,} operations stored ({stored["bytes"] / 2**20:,.0f} MiB, '
             f'made in {stored["fill_s"]:.0f} s). Start, until ready: {start["cold"]:.2f} s '
             f'with files read from disk, {start["warm"]:.2f} s with files in memory, '
             f'{start["killed"]:.2f} s after SIGKILL.', '']
    memory = result['memory_kib']
    lines += [f'Peak memory with them: {memory["open"] / 1024:.1f} MiB with 1,000 connections '
              f'open, {memory["open_and_64_busy"] / 1024:.1f} MiB with 64 more that write, '
              f'{memory["all_busy"] / 1024:.1f} MiB with 1,000 that write at once.', '']
    return lines


def markdown(result):
    about, options, disk = result['machine'], result['options'], result['disk']
    lines = [
        f'{about["counterfoil"]}, nginx {about["nginx"]}, wrk {about["wrk"]}; '
        f'{about["cores"]} cores ({about["processor"]}), Linux {about["kernel"]}, '
        f'{disk["file_system"]}, fsync {disk["fsync_us"]} µs. Everything on this machine; '
        f'{options["rounds"]} rounds of {options["seconds"]} s, alternating; medians. Gate: '
        'default settings but `log: {requests: false}`; nginx: access log off.', '']
    lines += table(['load', 'connections', 'through', 'requests/s', 'p50 ms', 'p99 ms',
                    'CPU µs', 'upstream µs', 'wrk µs', 'rate ÷ nginx', 'CPU ÷ nginx'],
                   load_rows(result)) + ['']
    lines += ['Commits of first writes:', '', *commit_lines(result), '']
    lines += ['First writes of an action with identity, lock and money, ÷ the same undeclared:', '',
              *rules_lines(result), '']
    if 'against' in result['options']:
        lines += [f'This build ÷ {result["options"]["against"]}:', '', *against_lines(result), '']
    if 'memory_kib' in result:
        lines += stored_lines(result)
    lines += ['Peak memory after all rounds: ' +
              ', '.join(f'{name} {kib / 1024:.1f} MiB' for name, kib in
                        result['peak_kib'].items()) + '.', '']
    goals = [[what, bound, f'{value:.2f}', 'met' if holds else 'MISSED']
             for what, value, bound, holds in judged_goals(result)]
    if goals:
        lines += table(['goal, at 64 connections', 'bound', 'measured', ''], goals)
    if result['complaints']:
        lines += ['', 'INVALID, these figures count for nothing:', '']
        lines += [f'- {complaint}' for complaint in result['complaints']]
    return '\n'.join(lines)


def save(result, folder):
    """Write it all; the path."""
    folder.mkdir(parents=True, exist_ok=True)
    result['figures'] = figures(result)
    path = folder / (time.strftime('%Y%m%dT%H%M%S', time.gmtime()) + '.json')
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + '\n')
    return path
