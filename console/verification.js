/*
 * Whether the audit log is as it was signed: what the gate's own verification found, and a button.
 *
 * The parts that are drawn anew stand beside the button, never around it, so that whoever came to it
 * by the keyboard stays there; a run that begins or ends is told to a screen reader, what moves in
 * between is not.
 */
import {h, replace, said, when, badge, count, facts, span} from './dom.js';
import {post} from './api.js';

const AGAIN_MS = 1000;
const GOOD = {'ok': 'Every entry is as it was signed.', 'ok-unsealed': 'Every entry that a checkpoint covers is as it was signed.'};

const entries = (n) => count(Number(n), 'entry', 'entries');

/* A log that nobody has written yet is no finding. */
function isEmpty(last) {
	return last.result === 'missing-anchor' && Number(last.entries) === 0;
}

function tone(last) {
	if (last.result === null)
		return 'warn';
	if (isEmpty(last))
		return 'still';
	return GOOD[last.result] ? 'good' : 'bad';
}

function sentence(last) {
	return [badge(last.result ?? 'not finished', tone(last)), ' ', GOOD[last.result] ?? said(last.why ?? '')];
}

function firstBad(bad) {
	if (!bad)
		return null;
	return Number(bad.to) > Number(bad.from) ? `entry ${bad.from}, or one up to ${bad.to}` : `entry ${bad.from}`;
}

function found(last) {
	const seconds = (Date.parse(last.ended) - Date.parse(last.begun)) / 1000;
	const rows = [['When', [when(last.ended), seconds >= 1 ? `, in ${span(seconds)}` : '']]];

	if (last.result !== null)
		rows.push(['Of', [entries(last.entries), Number(last.unsealed) ? `, ${last.unsealed} of them not under a checkpoint yet` : '']],
			['Up to', last.head ? [entries(last.head.size), ', root ', h('code', null, said(String(last.head.root)))] : 'no checkpoint'],
			['First bad', firstBad(last.first_bad)],
			['Malformed', Number(last.unreadable) ? `${entries(last.unreadable)}, the first is ${last.first_unreadable}` : null],
			['Epochs', Number(last.epochs) > 1 ? `${last.epochs}, ${last.seals} of them ended` : null],
			['Erased', Number(last.erased) ? `${count(Number(last.erased), 'data key')}, ${entries(last.pruned)} taken away after that` : null]);
	return facts(rows);
}

function advice(last) {
	return tone(last) === 'bad' ? h('p', {class: 'notice'}, 'Keep the data directory as it is, and have a copy of it verified elsewhere, with a key that you kept: ',
		h('code', null, 'counterfoil audit verify'), '.') : null;
}

/* {element, show(verification), stop()}; `again` fetches the status anew. */
export function verificationPanel(again) {
	const result = h('p', {class: 'verified', role: 'status', 'aria-live': 'polite'});
	const progress = h('p', {class: 'quiet'}), details = h('div'), alert = h('p', {class: 'alert', role: 'alert'});
	const button = h('button', {type: 'button', onclick: press, 'aria-describedby': 'verify-hint'}, 'Verify now');
	let told = null, isRunning = false, isStopped = false, timer = 0;

	function showResult(verification) {
		const {running, last} = verification;
		const now = JSON.stringify([running, last?.ended ?? null]);

		if (now === told) /* said already: a screen reader would say it again */
			return;
		told = now;
		replace(result, running ? 'Verifying…' : last ? sentence(last) : 'It was not verified since this gate began.');
	}

	function show(verification) {
		const {running, last} = verification;

		isRunning = running;
		showResult(verification);
		button.setAttribute('aria-disabled', String(running));
		progress.textContent = running ? `${entries(verification.walked)} so far` : '';
		replace(details, running || !last ? null : [found(last), advice(last)]);
		clearTimeout(timer);
		if (running && !isStopped)
			timer = setTimeout(again, AGAIN_MS);
	}

	async function press() {
		if (isRunning)
			return;
		try {
			alert.textContent = '';
			show(await post('/api/audit/verify'));
		} catch (problem) {
			alert.textContent = problem.message;
		}
	}

	const element = h('section', {class: 'panel', 'aria-labelledby': 'verification-title'}, h('h2', {id: 'verification-title'}, 'Verified by this gate'),
		result, progress, details, alert, h('div', {class: 'buttons verify'}, button),
		h('p', {class: 'hint', id: 'verify-hint'}, 'Hashes every entry again and compares it with what was signed, beside the traffic. That the gate itself is honest is for ',
			h('code', null, 'counterfoil audit verify'), ' to say: elsewhere, with a key that you kept.'));

	function stop() {
		isStopped = true;
		clearTimeout(timer);
	}
	return {element, show, stop};
}
