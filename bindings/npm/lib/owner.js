/*
 * Who is at an entry of the journal: "MACHINE BOOT PIDNS PID START", and whether they still are.
 *
 * A process id alone comes again; with its start and the machine's boot it does not. A part that the
 * system does not tell is "-". Who cannot be judged from here counts as gone: what they had under way
 * is uncertain, and is asked about before anything is sent.
 */
import {readFileSync, statSync} from 'node:fs';

export function ownerOfSelf() {
	return [...place(), process.pid, startOf(process.pid)].join(' ');
}

export function isAlive(owner) {
	const parts = owner.split(' ');
	if (parts.length !== 5 || !/^[1-9][0-9]{0,9}$/.test(parts[3]) || parts.slice(0, 3).join(' ') !== place().join(' '))
		return false;
	const [pid, start] = parts.slice(3);
	const now = startOf(pid);
	return now === '-' ? answers(Number(pid)) : start === '-' || start === now;
}

function place() {
	return [word('/etc/machine-id'), word('/proc/sys/kernel/random/boot_id'),
		orDash(() => statSync('/proc/self/ns/pid', {bigint: true}).ino.toString())];
}

function word(path) {
	return orDash(() => readFileSync(path, 'latin1').trim().split(/\s/)[0]);
}

/* Field 22 of /proc/PID/stat, counted behind the last ")": names may have blanks in them. */
function startOf(pid) {
	return orDash(() => readFileSync(`/proc/${pid}/stat`, 'latin1').split(')').pop().trim().split(' ')[19]);
}

function orDash(look) {
	try {
		return look() || '-';
	} catch {
		return '-';
	}
}

function answers(pid) {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return error.code !== 'ESRCH';
	}
}
