/** Lines over time: a sentence for those who do not see them, and the figures of the time at which somebody points. */
import { Badge, Group, Paper, Text } from '@mantine/core';
import { useState } from 'react';
import { localeOf, useLanguage } from './language';

type Props = {
  readonly label: string;
  /** As the API has them, the oldest first. */
  readonly times: readonly string[];
  readonly show: Show;
  /** One that is called as all of them is the chart's subject. */
  readonly lines: readonly Line[];
};
type Show = (value: number) => string;
type Values = readonly (number | null)[];
/** A value for each time, null where it is not known, and a colour of Mantine. One with a unit of its own has a scale of its own. */
type Line = { readonly label: string; readonly color: string; readonly values: Values; readonly show?: Show };

const [WIDTH, HEIGHT] = [300, 60];

export function Chart({ label, times, show, lines }: Props) {
  const { text, language } = useLanguage();
  const [pointed, setPointed] = useState<number>();
  const last = times.length - 1;
  const here = Math.min(pointed ?? last, last);
  const scales = new Map<Show, number>();
  for (const { values, show: own = show } of lines)
    for (const value of values) if (value !== null) scales.set(own, Math.max(scales.get(own) ?? 0, value));
  const moments = times.map((time) => Date.parse(time));
  const [begin, end] = [moments[0] ?? 0, moments[last] ?? 0];
  // Where no points are, the service was down.
  const x = (at: number) => (WIDTH * ((moments[at] ?? 0) - begin)) / Math.max(1, end - begin);
  const pointer = pointed === undefined ? '' : `M${x(here)} 0V${HEIGHT}`;
  const path = ({ values, show: own = show }: Line) => {
    if (!values.some(Boolean)) return [];
    const y = (value: number) => HEIGHT - (HEIGHT - 1) * (value / (scales.get(own) || 1));
    return values.map((value, at) => value !== null && `${values[at - 1] == null ? 'M' : 'L'}${x(at)} ${y(value)}h0`);
  };
  const textAt = ({ values, show: own = show }: Line, at: number) => (values[at] == null ? '–' : own(values[at]));
  const timeOf = (at: number) =>
    new Date(times[at] ?? Date.now()).toLocaleTimeString(localeOf(language), { hour: '2-digit', minute: '2-digit' });
  const said = lines.map((line) => `${line.label} ${textAt(line, last)}`).join(', ');
  const most = [...scales].map(([own, value]) => own(value)).join(', ');
  const highest = most === '' ? text.common.unknown : `${text.common.highest} ${most}`;
  return (
    <Paper withBorder p="sm" pb={4}>
      <Text size="sm">{label}</Text>
      <Group gap="sm" align="baseline" mt={4}>
        {lines[0]?.label !== label && <Text size="sm">{timeOf(here)}</Text>}
        {lines.map((line) =>
          line.label === label ? (
            <Text key={line.label} size="xl" fw={600}>
              {textAt(line, here)}
            </Text>
          ) : (
            <Badge key={line.label} size="lg" variant="dot" color={line.color}>
              {textAt(line, here)} {line.label}
            </Badge>
          ),
        )}
      </Group>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        className="chart"
        role="img"
        aria-label={`${label}: ${said}; ${highest}`}
        preserveAspectRatio="none"
        onPointerMove={({ clientX, currentTarget }) => {
          const { left, width } = currentTarget.getBoundingClientRect();
          const moment = begin + ((clientX - left) / width) * (end - begin);
          const at = moments.findLastIndex((each) => each <= moment);
          setPointed(Math.max(0, at));
        }}
        onPointerLeave={() => setPointed(undefined)}
      >
        <path d={`M0 ${HEIGHT}H${WIDTH}${pointer}`} stroke="var(--mantine-color-default-border)" />
        {lines.map((line) => (
          <path
            key={line.label}
            d={path(line).filter(Boolean).join('')}
            stroke={`var(--mantine-color-${line.color}-filled)`}
          />
        ))}
      </svg>
      <Group justify="space-between">
        <Text size="xs">{timeOf(pointed === undefined ? 0 : here)}</Text>
        <Text size="xs">{highest}</Text>
        <Text size="xs">{timeOf(last)}</Text>
      </Group>
    </Paper>
  );
}
