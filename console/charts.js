/*
 * Drawings: how requests ended over time, and the life of one operation.
 *
 * Each drawing has its numbers beside it as text: the picture is for the eye, never the only place.
 */
import {h, s, clock, span} from './dom.js';

/* Outcomes in the groups that matter to whoever looks. */
export const GROUPS = [
	{name: 'Created', className: 'g-created', of: ['created']},
	{name: 'Replayed', className: 'g-replayed', of: ['replayed', 'reused']},
	{name: 'Waiting', className: 'g-waiting', of: ['running', 'queued', 'awaiting_approval']},
	{name: 'Refused', className: 'g-refused', of: ['conflict', 'locked', 'refused', 'denied', 'expired']},
	{name: 'Uncertain', className: 'g-uncertain', of: ['unknown', 'not_sent']},
];

export function groupOf(outcome) {
	return GROUPS.find((group) => group.of.includes(outcome)) ?? GROUPS[2];
}

function grouped(counts) {
	return GROUPS.map((group) => group.of.reduce((sum, name) => sum + Number(counts[name] ?? 0), 0));
}

/* Buckets of the API as `columns` columns of GROUPS. */
export function columnsOf(document, columns) {
	const from = Date.parse(document.from), now = Date.now();
	const width = (now - from) / columns;
	const made = Array.from({length: columns}, (_, i) => ({at: from + i * width, counts: GROUPS.map(() => 0)}));

	for (const bucket of document.buckets) {
		const i = Math.min(columns - 1, Math.max(0, Math.floor((Date.parse(bucket.at) - from) / width)));
		grouped(bucket.counts).forEach((n, g) => { made[i].counts[g] += n; });
	}
	return made;
}

function round(most) {
	const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));

	return [1, 2, 2.5, 4, 5, 8, 10].map((step) => step * power).find((step) => step >= most) ?? most;
}

export function outcomeChart(columns) {
	const width = 720, height = 180, left = 40, bottom = 22, top = 8;
	const most = round(Math.max(1, ...columns.map((column) => column.counts.reduce((a, b) => a + b, 0))));
	const step = (width - left) / columns.length;
	const y = (n) => top + (height - top - bottom) * (1 - n / most);
	const bars = columns.map((column, i) => {
		let sum = 0;
		return column.counts.map((n, g) => {
			if (!n)
				return null;
			const base = sum;
			sum += n;
			return s('rect', {class: GROUPS[g].className, x: left + i * step + 1, width: Math.max(1, step - 2),
				y: y(sum), height: Math.max(1, y(base) - y(sum))});
		});
	});
	const lines = [0, most / 2, most].filter(Number.isInteger).map((n) => [
		s('line', {class: 'grid', x1: left, x2: width, y1: y(n), y2: y(n)}),
		s('text', {class: 'tick', x: left - 8, y: y(n) + 4, 'text-anchor': 'end'}, n),
	]);
	const marks = [0, 0.25, 0.5, 0.75].map((part) => s('text', {class: 'tick', x: left + part * (width - left), y: height - 5},
		clock(columns[Math.floor(part * columns.length)].at).slice(0, 5)));
	const total = columns.reduce((sum, column) => sum + column.counts.reduce((a, b) => a + b, 0), 0);

	return s('svg', {class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img',
		'aria-label': `Outcomes of ${total} requests over the last day; the numbers are in the list below`}, lines, bars, marks);
}

export function legend(columns) {
	const totals = GROUPS.map((_, g) => columns.reduce((sum, column) => sum + column.counts[g], 0));

	return h('ul', {class: 'legend'}, GROUPS.map((group, g) => h('li', null,
		h('span', {class: 'swatch ' + group.className, 'aria-hidden': 'true'}), group.name, ' ', h('b', null, totals[g]))));
}

/* -- the life of one operation ------------------------------------------------------- */

const LANES = [
	{name: 'callers', of: ['caller']},
	{name: 'the gate', of: ['dispatcher', 'reconciler']},
	{name: 'people', of: ['operator', 'person', 'approver']},
];

/* In the order of time; two that are close together are drawn apart, so that each is seen. */
function spread(times, from, to, left, right, gap) {
	const scale = to > from ? (right - left) / (to - from) : 0;
	const at = times.map((time) => left + (time - from) * scale);

	for (let i = 1; i < at.length; i++)
		at[i] = Math.max(at[i], at[i - 1] + gap);
	const over = at.length && at[at.length - 1] > right ? (right - left) / (at[at.length - 1] - left) : 1;
	return at.map((x) => left + (x - left) * over);
}

export function timeline(operation, events) {
	const width = 720, left = 72, right = width - 20, lane = 34, top = 12;
	const height = top + LANES.length * lane + 26;
	const times = events.map((event) => Date.parse(event.at));
	const from = Math.min(Date.parse(operation.created), ...times), to = Math.max(Date.parse(operation.updated), ...times);
	const at = spread(times, from, to, left + 10, right, 16);
	const y = (by) => top + lane / 2 + lane * Math.max(0, LANES.findIndex((row) => row.of.includes(by)));

	return s('svg', {class: 'timeline', viewBox: `0 0 ${width} ${height}`, role: 'img',
		'aria-label': `Time line of ${events.length} events over ${span((to - from) / 1000)}; they are listed below`},
		LANES.map((row, i) => [
			s('line', {class: 'grid', x1: left, x2: right, y1: top + lane / 2 + lane * i, y2: top + lane / 2 + lane * i}),
			s('text', {class: 'tick', x: left - 10, y: top + lane / 2 + lane * i + 4, 'text-anchor': 'end'}, row.name),
		]),
		at.length > 1 ? s('polyline', {class: 'path', points: at.map((x, i) => `${x},${y(events[i].by)}`).join(' ')}) : null,
		at.map((x, i) => s('circle', {class: 'dot ' + groupOf(events[i].outcome).className, cx: x, cy: y(events[i].by), r: 6.5},
			s('title', null, `${clock(events[i].at)} ${events[i].outcome}`))),
		s('text', {class: 'tick', x: left + 10, y: height - 6}, clock(from)),
		s('text', {class: 'tick', x: right, y: height - 6, 'text-anchor': 'end'}, clock(to)));
}
