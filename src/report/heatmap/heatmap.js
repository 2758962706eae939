/* SPDX-License-Identifier: Apache-2.0
   Draws the maps of the page of heatmaps. The state is in the address after "#", so that a link leads to a map:
   #text=0&kind=decoder&layer=0&head=0&scale=linear&query=3&key=1 */
'use strict';
(() => {
const byId = id => document.getElementById(id);
const make = (name, parent, properties) => parent.appendChild(Object.assign(document.createElement(name), properties));
const data = JSON.parse(byId('data').textContent);
const choices = ['text', 'kind', 'layer', 'head', 'scale'];
const state = {text: 0, kind: data.kinds[0].name, layer: 0, head: 0, scale: 'linear', query: -1, key: -1};
const figures = [...document.querySelectorAll('.map')];
const dark = matchMedia('(prefers-color-scheme: dark)');

/* ---- weights ---- */

/* 0 ... 65535, [layers, heads, queries, keys] */
function decode(map) {
    if (!map.levels) {
        const bytes = Uint8Array.from(atob(map.weights), character => character.charCodeAt(0));
        const view = new DataView(bytes.buffer);
        map.levels = Uint16Array.from({length: bytes.length / 2}, (_, i) => view.getUint16(2 * i, true));
    }
    return map.levels;
}

/* What the chosen map of a side is, or undefined where the side has none. */
function chosen(side, layer = state.layer, head = state.head) {
    const text = data.sides[side].texts[state.text], map = text.maps[state.kind];
    if (!map || layer >= map.shape[0] || head >= map.shape[1]) return undefined;
    const [, heads, queries, keys] = map.shape, first = (layer * heads + head) * queries * keys;
    return {queries, keys, levels: decode(map).subarray(first, first + queries * keys),
        numbers: text.numbers[state.kind][layer * heads + head],
        rows: state.kind === 'encoder' ? text.source : text.target,
        columns: state.kind === 'decoder' ? text.target : text.source};
}

/* ---- colours ---- */

function colourOf(level) {
    const weight = level / 65535, shown = state.scale === 'root' ? Math.sqrt(weight) : weight;
    return (dark.matches ? data.dark : data.light)[Math.round(255 * shown)];
}
function paint(canvas, map) {
    canvas.width = map.keys;
    canvas.height = map.queries;
    const context = canvas.getContext('2d'), image = context.createImageData(map.keys, map.queries);
    map.levels.forEach((level, i) => {
        const colour = parseInt(colourOf(level).slice(1), 16);
        image.data.set([colour >> 16, colour >> 8 & 255, colour & 255, 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
}

/* ---- one map ---- */

const cellOf = map => {
    const most = Math.max(map.queries, map.keys);
    return most <= 16 ? 26 : most <= 32 ? 20 : most <= 64 ? 15 : 11;
};
const weightOf = (map, query, key) => (map.levels[query * map.keys + key] / 65535).toFixed(4);
const number = (value, digits) => value === null ? '\u2013' : value.toFixed(digits);

/* The cell at the cursor in words, or the head's numbers for this text. */
function read(side) {
    const map = chosen(side), output = figures[side].querySelector('.reading'), {query, key} = state;
    if (!map) output.textContent = 'This side has no such head.';
    else if (query >= 0 && query < map.queries && key >= 0 && key < map.keys)
        output.textContent = `${map.rows[query]} (${query}) looks at ${map.columns[key]} (${key}): ` +
            weightOf(map, query, key);
    else
        output.textContent = `In this text: entropy ${number(map.numbers[0], 3)} nats, ` +
            `${number(map.numbers[1], 3)} of its largest; distance ${number(map.numbers[2], 2)} tokens.`;
}

function point(side) {
    const map = chosen(side), figure = figures[side], cursor = figure.querySelector('.cursor');
    if (map) {
        const inside = state.query >= 0 && state.query < map.queries && state.key >= 0 && state.key < map.keys;
        cursor.hidden = !inside;
        cursor.style.transform = `translate(calc(var(--cell)*${state.key}),calc(var(--cell)*${state.query}))`;
        figure.querySelectorAll('.on').forEach(label => label.classList.remove('on'));
        if (inside) {
            figure.querySelector('.left').children[state.query].classList.add('on');
            figure.querySelector('.top').children[state.key].classList.add('on');
        }
    }
    read(side);
}
const pointAll = () => figures.forEach((_, side) => point(side));

function moveTo(query, key) {
    Object.assign(state, {query, key});
    pointAll();
}

function drawMap(side) {
    const area = figures[side].querySelector('.window'), map = chosen(side);
    area.replaceChildren();
    figures[side].querySelector('.save').hidden = !map;
    if (!map) return;
    const grid = make('div', area, {className: 'grid'}), cell = cellOf(map);
    grid.style.setProperty('--cell', cell + 'px');
    make('div', grid, {className: 'corner'});
    const isShort = map.columns.every(label => [...label].length < 3);
    const top = make('div', grid, {className: isShort ? 'top short' : 'top'}), left = make('div', grid, {className: 'left'});
    map.columns.forEach(label => make('span', top, {textContent: label}));
    map.rows.forEach(label => make('span', left, {textContent: label}));
    const plot = make('div', grid, {className: 'plot'}), canvas = make('canvas', plot, {});
    make('div', plot, {className: 'cursor', hidden: true});
    canvas.style.width = map.keys * cell + 'px';
    canvas.style.height = map.queries * cell + 'px';
    paint(canvas, map);
    plot.addEventListener('pointermove', event => {
        const box = canvas.getBoundingClientRect();
        moveTo(Math.min(map.queries - 1, Math.max(0, Math.floor((event.clientY - box.top) / cell))),
            Math.min(map.keys - 1, Math.max(0, Math.floor((event.clientX - box.left) / cell))));
    });
    plot.addEventListener('pointerleave', () => moveTo(-1, -1));
    plot.addEventListener('click', remember);
}

/* ---- all heads ---- */

function drawOverview(side) {
    const overview = figures[side].querySelector('.overview'), map = data.sides[side].texts[state.text].maps[state.kind];
    overview.replaceChildren();
    if (!map) return;
    overview.style.gridTemplateColumns = `repeat(${map.shape[1]}, minmax(44px, 110px))`;
    for (let layer = 0; layer < map.shape[0]; layer++)
        for (let head = 0; head < map.shape[1]; head++) {
            const is = layer === state.layer && head === state.head;
            const button = make('button', overview, {type: 'button', className: is ? 'chosen' : '',
                title: `layer ${layer + 1}, head ${head + 1}`});
            paint(make('canvas', button, {}), chosen(side, layer, head));
            make('span', button, {textContent: `${layer + 1}.${head + 1}`});
            button.addEventListener('click', () => choose({layer, head}));
        }
}

function markTables() {
    for (const row of document.querySelectorAll('.heads tbody tr')) {
        row.hidden = row.dataset.kind !== state.kind;
        row.classList.toggle('chosen', +row.dataset.layer === state.layer && +row.dataset.head === state.head);
    }
}

/* ---- a picture to keep ---- */

function save(side) {
    const map = chosen(side), cell = 20, font = '13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
    const canvas = document.createElement('canvas'), context = canvas.getContext('2d');
    const style = getComputedStyle(document.documentElement), room = labels =>
        Math.max(...labels.map(label => context.measureText(label).width)) + 14;
    context.font = font;
    const left = room(map.rows), top = room(map.columns) + 28;
    canvas.width = 2 * (left + map.keys * cell + 14);
    canvas.height = 2 * (top + map.queries * cell + 14);
    context.scale(2, 2);
    context.fillStyle = style.getPropertyValue('--card');
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = style.getPropertyValue('--ink');
    context.font = font;
    context.fillText(`${data.sides[side].name}, ${kindOf().title}, ${state.layer + 1}.${state.head + 1}`, 8, 18);
    context.textBaseline = 'middle';
    map.columns.forEach((label, key) => {
        context.save();
        context.translate(left + (key + 0.5) * cell, top - 6);
        context.rotate(-Math.PI / 2);
        context.fillText(label, 0, 0);
        context.restore();
    });
    context.textAlign = 'right';
    map.rows.forEach((label, query) => context.fillText(label, left - 6, top + (query + 0.5) * cell));
    map.levels.forEach((level, i) => {
        context.fillStyle = colourOf(level);
        context.fillRect(left + i % map.keys * cell, top + Math.floor(i / map.keys) * cell, cell, cell);
    });
    context.strokeStyle = style.getPropertyValue('--line');
    context.strokeRect(left - 0.5, top - 0.5, map.keys * cell + 1, map.queries * cell + 1);
    const name = `${data.sides[side].name}-text${state.text + 1}-${state.kind}-layer${state.layer + 1}-head${state.head + 1}.png`;
    const link = make('a', document.body, {href: canvas.toDataURL('image/png'), download: name, hidden: true});
    link.click();
    link.remove();
}

/* ---- choosing ---- */

const kindOf = () => data.kinds.find(kind => kind.name === state.kind);

function fillSelect(name, options) {
    byId(name).replaceChildren(...options.map(([value, label]) => new Option(label, value)));
}
function fillSelects() {
    const numbered = (name, count) => Array.from({length: count}, (_, i) => [i, `${name} ${i + 1}`]);
    fillSelect('layer', numbered('layer', kindOf().layers));
    fillSelect('head', numbered('head', kindOf().heads));
    choices.forEach(name => { byId(name).value = state[name]; });
}
const labelOf = (text, i) => {
    const labels = text.source.length ? text.source : text.target;
    const words = labels.some(label => label.includes('\u2581')) ? labels.join('').replaceAll('\u2581', ' ')
        : labels.join(labels.every(label => [...label].length < 2) ? '' : ' ');
    return `${i + 1}: ${words.length > 60 ? words.slice(0, 59) + '\u2026' : words}`;
};

function remember() {
    const kept = Object.entries(state).filter(([, value]) => value !== -1);
    history.replaceState(null, '', '#' + new URLSearchParams(kept));
}
function drawLegend() {
    paint(byId('legend'), {queries: 1, keys: 256, levels: Uint16Array.from({length: 256}, (_, i) => i * 257)});
}
function draw() {
    fillSelects();
    drawLegend();
    figures.forEach((_, side) => { drawMap(side); drawOverview(side); });
    pointAll();
    markTables();
}
function choose(wanted) {
    const within = (value, count) => Number.isInteger(value) && value >= 0 && value < count;
    const next = {...state, query: -1, key: -1, ...wanted};
    const kind = data.kinds.find(one => one.name === next.kind) || data.kinds[0];
    next.kind = kind.name;
    if (!within(next.text, data.sides[0].texts.length)) next.text = 0;
    if (!within(next.layer, kind.layers)) next.layer = 0;
    if (!within(next.head, kind.heads)) next.head = 0;
    if (next.scale !== 'root') next.scale = 'linear';
    Object.assign(state, next);
    draw();
    remember();
}
function chooseFromAddress() {
    const wanted = {};
    for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
        if (name in state) wanted[name] = name === 'kind' || name === 'scale' ? value : parseInt(value, 10);
    choose(wanted);
}

const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
figures.forEach((figure, side) => {
    figure.querySelector('.save').addEventListener('click', () => save(side));
    figure.querySelector('.window').addEventListener('keydown', event => {
        const step = steps[event.key], map = chosen(side);
        if (!step || !map) return;
        event.preventDefault();
        moveTo(Math.min(map.queries - 1, Math.max(0, state.query + step[0])),
            Math.min(map.keys - 1, Math.max(0, state.key + step[1])));
    });
});
document.querySelectorAll('.heads tbody button').forEach(button => button.addEventListener('click', () => {
    const {layer, head} = button.closest('tr').dataset;
    choose({layer: +layer, head: +head});
    byId('maps').scrollIntoView({block: 'nearest'});
}));
byId('controls').addEventListener('change', event => {
    const {id, value} = event.target;
    choose({[id]: id === 'kind' || id === 'scale' ? value : +value});
});
byId('controls').addEventListener('submit', event => event.preventDefault());
addEventListener('hashchange', chooseFromAddress);
dark.addEventListener('change', draw);
fillSelect('text', data.sides[0].texts.map((text, i) => [i, labelOf(text, i)]));
fillSelect('kind', data.kinds.map(kind => [kind.name, kind.title]));
chooseFromAddress();
})();
