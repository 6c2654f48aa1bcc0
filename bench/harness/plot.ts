/** A line chart as SVG: enough for a handful of curves, and no library for it. */
import type { Plot } from './benchmark.js';

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 80;
const RIGHT = 20;
const TOP = 48;
const BOTTOM = 64;
const TICKS = 5;
/** Told apart also by those who see no red beside green. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00'];

export function svgOf({ title, x, y, lines }: Plot): string {
  const points = lines.flatMap((line) => line.points);
  const xs = points.map(([at]) => (x.isLog ? Math.log10(at) : at));
  const [xMin, xMax] = rangeOf(xs);
  const yStep = roundStep(Math.max(...points.map(([, value]) => value), 0) / TICKS || 1);
  const yMax = yStep * TICKS;
  const placeX = (at: number) =>
    LEFT + (((x.isLog ? Math.log10(at) : at) - xMin) / (xMax - xMin)) * (WIDTH - LEFT - RIGHT);
  const placeY = (value: number) => HEIGHT - BOTTOM - (value / yMax) * (HEIGHT - TOP - BOTTOM);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    text(WIDTH / 2, 20, title, 'middle', 'font-size="15"'),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 28, x.label, 'middle'),
    text(0, 0, y.label, 'middle', `transform="translate(16 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"`),
  ];
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const value = yStep * tick;
    parts.push(line(LEFT, placeY(value), WIDTH - RIGHT, placeY(value), '#ddd'));
    parts.push(text(LEFT - 6, placeY(value) + 4, figure(value), 'end'));
  }
  for (const at of new Set(points.map(([value]) => value))) {
    parts.push(text(placeX(at), HEIGHT - BOTTOM + 18, figure(at), 'middle'));
  }
  for (const [index, { name, points: own }] of lines.entries()) {
    const colour = COLOURS[index % COLOURS.length] ?? 'black';
    const places = own.map(([at, value]) => `${placeX(at).toFixed(1)},${placeY(value).toFixed(1)}`);
    parts.push(`<polyline points="${places.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const place of places) {
      const [cx, cy] = place.split(',');
      parts.push(`<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`);
    }
    const legendX = LEFT + index * ((WIDTH - LEFT - RIGHT) / lines.length);
    parts.push(line(legendX, 36, legendX + 16, 36, colour), text(legendX + 20, 40, name, 'start'));
  }
  return `${parts.join('\n')}\n</svg>\n`;
}

/** The next number from `least` on that reads well on an axis. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 2.5, 5].find((digits) => digits * power >= least) ?? 10) * power;
}

function rangeOf(values: readonly number[]): [number, number] {
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return min === max ? [min - 1, max + 1] : [min, max];
}

function line(x1: number, y1: number, x2: number, y2: number, colour: string): string {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${colour}"/>`;
}

function text(x: number, y: number, words: string, anchor: string, more = ''): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" ${more}>${escaped(words)}</text>`;
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function figure(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(3))} k`;
  return String(Number(value.toPrecision(3)));
}
