/** Figures as the benchmarks print them: beside the limit they are held against. */

export const quantile = (values, q) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];

const results = [];

const line = (name, text, wanted, ok) => {
  results.push({ name, ok });
  console.log(
    `${ok === undefined ? '   ' : ok ? 'ok ' : 'NO '} ${name.padEnd(58)} ${text}${wanted === '' ? '' : `   (wanted: ${wanted})`}`,
  );
};

/** A rate beside its limit. @param least share of the limit that is wanted */
export function share(name, rate, limit, least, unit) {
  const part = rate / limit;
  line(
    name,
    `${Math.round(rate)} of ${Math.round(limit)} ${unit} = ${(part * 100).toFixed(0)} %`,
    `${least * 100} %`,
    part >= least,
  );
}

/** A figure that may be at most so much. */
export function atMost(name, value, most, unit) {
  line(name, `${value.toFixed(1)} ${unit}`, `at most ${most}`, value <= most);
}

/** A rate that is to be reached. */
export function atLeast(name, value, least, unit) {
  line(name, `${Math.round(value)} ${unit}`, `${least}`, value >= least);
}

/** Times in milliseconds; the median and the 99th percentile (undefined: any) may be at most so much. */
export function medianAndP99(name, times, mostMedian, most) {
  const isReached = quantile(times, 0.5) <= mostMedian && (most === undefined || quantile(times, 0.99) <= most);
  line(name, milliseconds(times), `at most ${[mostMedian, most ?? []].flat().join(' and ')}`, isReached);
}

/** Times in milliseconds; the 99th percentile may be at most so much. */
export function p99(name, times, most) {
  const high = quantile(times, 0.99);
  line(name, milliseconds(times), `p99 at most ${most}`, high <= most);
  return high;
}

export const milliseconds = (times) =>
  `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`;

export const note = (name, text) => line(name, text, '');

/** @returns whether all figures were reached */
export function summary() {
  const missed = results.filter(({ ok }) => ok === false);
  console.log(`\n${results.filter(({ ok }) => ok === true).length} figures reached, ${missed.length} missed.`);
  for (const { name } of missed) console.log(`  missed: ${name}`);
  return missed.length === 0;
}
