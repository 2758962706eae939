/* SPDX-License-Identifier: Apache-2.0
   What the page can do: highlight arms, read values, switch to a logarithmic axis, sort tables, and save figures. Everything is
   on the page without it; buttons are made here. */
'use strict';
(() => {
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, parent, properties) => parent.appendChild(Object.assign(document.createElement(name), properties));
const button = (parent, textContent, press) => {
    const made = make('button', parent, {type: 'button', textContent});
    made.addEventListener('click', () => press(made));
    return made;
};
const minus = '\u2212';

/* ---- the legend ---- */

const chosen = new Set();
const armOf = element => (/(?:^| )e(\d+)(?: |$)/.exec(element.getAttribute('class')) || [])[1];

function highlight() {
    for (const element of all('figure.arms svg [class]'))
        element.classList.toggle('dim', chosen.size > 0 && armOf(element) !== undefined && !chosen.has(armOf(element)));
}
for (const entry of all('ul.legend li')) {
    const parts = [...entry.childNodes], arm = entry.dataset.arm;
    const made = button(entry, '', () => {
        if (!chosen.delete(arm)) chosen.add(arm);
        made.setAttribute('aria-pressed', chosen.has(arm));
        highlight();
    });
    made.append(...parts);
    made.setAttribute('aria-pressed', false);
}

/* ---- values ---- */

/* The rows of a figure's CSV, of which all columns are numbers. */
const csvOf = figure => {
    const own = figure.querySelector('.csv');
    return own.dataset.of ? document.getElementById(own.dataset.of).querySelector('.csv') : own;
};
function curvesOf(figure) {
    const from = csvOf(figure);
    from.rows = from.rows || from.textContent.trim().split('\n').slice(1).map(line =>
        line.split(',').map(field => field === '' ? NaN : +field));
    return from.rows;
}
const number = value => String(+value.toPrecision(5)).replace('-', minus);
const numbers = (svg, name) => svg.dataset[name].split(' ').map(Number);
const shownOf = figure => all(':scope>svg', figure).find(svg => svg.getClientRects().length) || figure.querySelector('svg');

function place(value, low, high, from, to, log) {
    const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    return from + share * (to - from);
}

/* What is read in a figure: a point of all bold curves, or a mark. It is said beside it. */
function clear(figure) {
    all('.cursor', figure).forEach(cursor => cursor.remove());
    figure.querySelector('.values').replaceChildren();
    figure.at = undefined;
}
function say(figure, svg, x) {
    const reading = figure.querySelector('.values'), box = svg.getBoundingClientRect(), outer = figure.getBoundingClientRect();
    const left = box.left - outer.left + x / svg.viewBox.baseVal.width * box.width;
    const isRight = left > outer.width / 2;
    reading.style.left = isRight ? 'auto' : left + 12 + 'px';
    reading.style.right = isRight ? outer.width - left + 12 + 'px' : 'auto';
    return reading;
}
function draw(parent, name, attributes) {
    const made = parent.appendChild(document.createElementNS(parent.namespaceURI, name));
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
}
function readRow(figure, svg, index) {
    const row = curvesOf(figure)[index], [left, right, top, bottom] = numbers(svg, 'frame'), x = numbers(svg, 'x');
    const [low, high] = numbers(svg, 'y'), isLog = svg.dataset.y.endsWith('log');
    const across = place(row[0], x[0], x[1], left, right);
    clear(figure);
    figure.at = index;
    const cursor = draw(svg, 'g', {class: 'cursor'});
    draw(cursor, 'line', {x1: across, x2: across, y1: top, y2: bottom});
    const curves = all('.bold,.line', svg).filter(curve => Number.isFinite(row[curve.dataset.column]) &&
        !curve.classList.contains('dim'));
    curves.sort((a, b) => row[b.dataset.column] - row[a.dataset.column]);
    const reading = say(figure, svg, across), unit = csvOf(figure).textContent.split(',', 1)[0];
    make('b', reading, {textContent: `${unit} ${number(row[0])}`});
    for (const curve of curves) {
        const value = row[curve.dataset.column], y = place(value, low, high, bottom, top, isLog);
        const name = curve.querySelector('title').textContent, colour = curve.getAttribute('class').split(' ')[0];
        if (y >= top && y <= bottom) draw(cursor, 'circle', {class: colour, cx: across, cy: y, r: 3.5});
        make('span', reading, {className: colour, textContent: `${name.replace(/, mean$/, '')}: ${number(value)}`});
    }
}
const marksOf = svg => all('.dot', svg).filter(mark => mark.querySelector('title'));
function readMark(figure, svg, index) {
    const mark = marksOf(svg)[index], to = mark.getAttribute('transform').match(/[\d.]+/g);
    clear(figure);
    figure.at = index;
    draw(draw(svg, 'g', {class: 'cursor ' + mark.getAttribute('class').split(' ')[1]}), 'circle',
        {cx: to[0], cy: to[1], r: 8, 'fill-opacity': 0});
    make('span', say(figure, svg, +to[0]), {textContent: mark.querySelector('title').textContent});
}

/* Rows within the axis. */
const rowsIn = (figure, svg) => {
    const [first, last] = numbers(svg, 'x');
    return curvesOf(figure).map((row, i) => i).filter(i => curvesOf(figure)[i][0] >= first && curvesOf(figure)[i][0] <= last);
};
const nearest = (items, distance) => items.reduce((best, item) => distance(item) < distance(best) ? item : best, items[0]);

function readAt(figure, svg, event) {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    if (svg.dataset.x) {
        const [left, right, top, bottom] = numbers(svg, 'frame'), rows = rowsIn(figure, svg), ends = numbers(svg, 'x');
        if (x < left - 9 || x > right + 9 || y < top || y > bottom || !rows.length) return clear(figure);
        return readRow(figure, svg, nearest(rows, i => Math.abs(place(curvesOf(figure)[i][0], ...ends, left, right) - x)));
    }
    const far = mark => {
        const to = mark.getAttribute('transform').match(/[\d.]+/g);
        return Math.hypot(to[0] - x, to[1] - y);
    };
    const marks = marksOf(svg), mark = marks.length ? nearest(marks, far) : undefined;
    if (!mark || far(mark) > 16) clear(figure);
    else readMark(figure, svg, marks.indexOf(mark));
}
function readNext(figure, svg, event) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (event.key === 'Escape') clear(figure);
    if (!step) return;
    event.preventDefault();
    const items = svg.dataset.x ? rowsIn(figure, svg) : marksOf(svg).map((mark, i) => i), read = svg.dataset.x ? readRow : readMark;
    if (!items.length) return;
    const at = items.indexOf(figure.at), to = at < 0 ? (step > 0 ? 0 : items.length - 1) : at + step;
    read(figure, svg, items[Math.max(0, Math.min(items.length - 1, to))]);
}
function listen(figure, drawings) {
    for (const svg of drawings) {
        svg.setAttribute('tabindex', 0);
        svg.addEventListener('pointermove', event => readAt(figure, svg, event));
        svg.addEventListener('pointerdown', event => readAt(figure, svg, event));
        svg.addEventListener('pointerleave', () => clear(figure));
        svg.addEventListener('blur', () => clear(figure));
        svg.addEventListener('keydown', event => readNext(figure, svg, event));
    }
}

/* ---- a logarithmic axis ---- */

function switchAxis(figure, pressed) {
    const template = figure.querySelector('template'), old = figure.querySelector(':scope>svg');
    const next = template.content.querySelector('svg');
    clear(figure);
    old.replaceWith(next);
    template.content.append(old);
    pressed.setAttribute('aria-pressed', next.dataset.y.endsWith('log'));
    highlight();
}

/* ---- figures to take away ---- */

function save(name, blob) {
    const link = make('a', document.body, {href: URL.createObjectURL(blob), download: name, hidden: true});
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
/* A drawing that stands alone, light, whatever the page is: variables become their colours. */
function aloneOf(figure) {
    const svg = shownOf(figure).cloneNode(true), box = svg.viewBox.baseVal, margin = 10;
    const width = box.width + 2 * margin, height = box.height + 2 * margin;
    const light = Object.fromEntries([...document.getElementById('light').textContent.matchAll(/(--\w+):([^;}]+)/g)].map(m => m.slice(1)));
    all('.cursor', svg).forEach(cursor => cursor.remove());
    all('.dim', svg).forEach(element => element.setAttribute('style', 'opacity:.13'));
    const background = draw(svg, 'rect', {class: 'background', x: -margin, y: -margin, width, height}), style = draw(svg, 'style', {});
    style.textContent = document.getElementById('chart').textContent.replace(/var\((--\w+)\)/g, (_, name) => light[name]);
    svg.prepend(style, background);
    for (const name of ['tabindex', 'class', 'data-frame', 'data-x', 'data-y']) svg.removeAttribute(name);
    for (const [name, value] of Object.entries({width, height, viewBox: `${-margin} ${-margin} ${width} ${height}`}))
        svg.setAttribute(name, value);
    return {text: new XMLSerializer().serializeToString(svg), width, height};
}
function savePicture(figure) {
    const {text, width, height} = aloneOf(figure), image = new Image(), scale = 3;
    image.onload = () => {
        const canvas = Object.assign(document.createElement('canvas'), {width: width * scale, height: height * scale});
        canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob(blob => save(figure.id + '.png', blob));
    };
    image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
}

for (const figure of all('figure[id]')) {
    make('p', figure, {className: 'values'}).setAttribute('aria-live', 'polite');
    const tools = make('div', figure, {className: 'tools'}), title = figure.querySelector('h3').textContent;
    const tool = (text, label, press) => button(tools, text, press).setAttribute('aria-label', `${label}: ${title}`);
    if (figure.querySelector('template')) {
        listen(figure, [figure.querySelector('template').content.querySelector('svg')]);
        tool('log axis', 'log axis', made => switchAxis(figure, made));
        tools.lastChild.setAttribute('aria-pressed', false);
    }
    tool('SVG', 'SVG', () => save(figure.id + '.svg', new Blob([aloneOf(figure).text], {type: 'image/svg+xml'})));
    tool('PNG', 'PNG', () => savePicture(figure));
    tool('CSV', 'CSV', () => save(figure.id + '.csv', new Blob([csvOf(figure).textContent], {type: 'text/csv'})));
    listen(figure, all(':scope>svg', figure));
}

/* ---- tables ---- */

/* "> 600 (1 of 3)" is behind any number, a dash behind everything; what begins with no number is a text. */
function keyOf(cell) {
    const text = cell.textContent.trim(), found = /^(> )?([+\u2212]?[\d,]*\.?\d+)/.exec(text);
    if (text === '' || text === '\u2013') return [2, 0, ''];
    if (/^< /.test(text)) return [0, 0, ''];
    return found ? [0, +found[2].replace(/,/g, '').replace(minus, '-') + (found[1] ? 1e9 : 0), ''] : [1, 0, text];
}
function compare(a, b) {
    return a[0] - b[0] || a[1] - b[1] || a[2].localeCompare(b[2]);
}
function sort(head, column) {
    const isUp = head.getAttribute('aria-sort') !== 'ascending', table = head.closest('table');
    all('[aria-sort]', table).forEach(other => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
    for (const body of table.tBodies) {
        const rows = [...body.rows].filter(row => row.className !== 'part').map(row => [keyOf(row.cells[column]), row]);
        rows.sort(([a], [b]) => a[0] === 2 || b[0] === 2 ? a[0] - b[0] : isUp ? compare(a, b) : compare(b, a));
        rows.forEach(([, row]) => body.append(row));
    }
}
for (const table of all('table.sortable'))
    [...table.tHead.rows[0].cells].forEach((head, column) => {
        const text = head.textContent;
        head.textContent = '';
        button(head, text, () => sort(head, column));
    });
})();
