/** Panels of one curve each as SVG: both axes logarithmic, panels of one unit share their scale, so that what is flat looks flat. */

const COLUMNS = 4;
const WIDTH = 236;
const HEIGHT = 176;
/** Of the curve within its panel. */
const AREA = { left: 44, top: 38, width: 172, height: 96 };

/** The system's choice of light or dark decides the colours; the background stays the page's. */
const STYLE = `
  text { font: 11px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 } .axis { fill: #57606a; font-size: 10px }
  .grid { stroke: #d0d7de; stroke-width: 1 } .curve { stroke: #0969da; stroke-width: 2; fill: none } .point { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .axis { fill: #9198a1 } .grid { stroke: #3d444d } .curve { stroke: #58a6ff } .point { fill: #58a6ff }
  }`;

const inXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const short = (value) => {
  if (value >= 1_000_000) return `${value / 1_000_000}M`;
  return value >= 1_000 ? `${value / 1_000}k` : String(value);
};
/** Two digits that count. */
export const figure = (value) =>
  value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2)));

/** Whole decades around all values. */
function decades(values) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  return [low, Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))];
}

/**
 * @param panels each with `title`, `unit`, and `points` as pairs of size and cost
 * @param what the sizes count @returns the text of the file
 */
export function chart(panels, what) {
  const rows = Math.ceil(panels.length / COLUMNS);
  const across = decades(panels.flatMap(({ points }) => points.map(([size]) => size)));
  const up = (unit) =>
    decades(panels.filter((panel) => panel.unit === unit).flatMap(({ points }) => points.map(([, cost]) => cost)));
  const drawn = panels.map((panel, i) => {
    const [x, y] = [(i % COLUMNS) * WIDTH, Math.floor(i / COLUMNS) * HEIGHT];
    return `<g transform="translate(${x} ${y})">${drawPanel(panel, across, up(panel.unit), what)}</g>`;
  });
  const size = `${COLUMNS * WIDTH} ${rows * HEIGHT}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" role="img" aria-label="costs against ${what}">
<style>${STYLE}
</style>
${drawn.join('\n')}
</svg>
`;
}

function drawPanel({ title, unit, points }, across, up, what) {
  const place = (value, [low, high], length) => ((Math.log10(value) - low) / (high - low)) * length;
  const x = (size) => (AREA.left + place(size, across, AREA.width)).toFixed(1);
  const y = (cost) => (AREA.top + AREA.height - place(cost, up, AREA.height)).toFixed(1);
  const steps = ([low, high]) => Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  const [right, bottom] = [AREA.left + AREA.width, AREA.top + AREA.height];
  const [, first] = points[0];
  const [, last] = points.at(-1);
  return [
    `<text class="title" x="8" y="14">${inXml(title)}</text>`,
    `<text class="axis" x="8" y="28">${inXml(unit)}: ${figure(first)} to ${figure(last)}</text>`,
    ...steps(up).flatMap((cost) => [
      `<path class="grid" d="M${AREA.left} ${y(cost)}H${right}"/>`,
      `<text class="axis" x="${AREA.left - 5}" y="${Number(y(cost)) + 3}" text-anchor="end">${short(Number(cost.toPrecision(1)))}</text>`,
    ]),
    ...steps(across).map(
      (size) => `<text class="axis" x="${x(size)}" y="${bottom + 14}" text-anchor="middle">${short(size)}</text>`,
    ),
    `<text class="axis" x="${(AREA.left + right) / 2}" y="${bottom + 27}" text-anchor="middle">${inXml(what)}</text>`,
    `<polyline class="curve" points="${points.map(([size, cost]) => `${x(size)},${y(cost)}`).join(' ')}"/>`,
    ...points.map(([size, cost]) => `<circle class="point" cx="${x(size)}" cy="${y(cost)}" r="2.5"/>`),
  ].join('');
}
