/** Rows that are parked; jobs on rows and the log: what asks for one, and what becomes of them. */
import { Alert, Badge, Group, Progress, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bodyOf } from '../api/client';
import { Act, Confirm } from '../app/Dialogs';
import { useNumber, useText, When } from '../app/language';
import { Section } from '../app/Page';
import { Rows } from '../app/Rows';
import { api, type Job, jobsQuery, type Parked } from './queries';
import { said, useWords } from './words';

const COLORS = { running: 'indigo', done: 'green', failed: 'red', cancelled: 'gray' } as const;

const begin = (kind: Job['kind'], tenant?: string) => () =>
  bodyOf(api.POST('/api/v1/operator/jobs', { body: { kind, ...(tenant === undefined ? {} : { tenant }) } }));

export function Jobs({ tenant }: { readonly tenant?: string }) {
  const { jobs, tenants } = useWords();
  const { activity, tables } = useText();
  const list = useQuery(jobsQuery).data?.filter((job) => tenant === undefined || job.tenant === tenant) ?? [];
  return (
    <Section title={jobs.title}>
      <Group align="flex-end" gap="xs">
        <Act label={jobs.verify} act={begin('verify', tenant)} />
        <Confirm
          label={jobs.rebuild}
          of={tenant ?? jobs.everything}
          why={jobs.rebuildWhy}
          act={begin('rebuild', tenant)}
          color="indigo"
        />
        {tenant === undefined && <Act label={jobs.audit_verify} act={begin('audit_verify')} />}
        {tenant === undefined && <Act label={jobs.audit_checkpoint} act={begin('audit_checkpoint')} />}
        {tenant === undefined && <Act label={jobs.backup} act={begin('backup')} />}
      </Group>
      {list.length > 0 && (
        <Rows
          label={jobs.title}
          heads={[activity.what, { label: tenants.state, isText: true }, tables.by]}
          rows={list.map((job) => ({
            id: job.id,
            cells: [
              `${jobs[job.kind]}: ${job.tenant ?? jobs.everything}`,
              <JobState key="state" job={job} />,
              <span key="by">
                <bdi>{job.operator}</bdi>, <When at={job.started_at} />
              </span>,
            ],
          }))}
        />
      )}
    </Section>
  );
}

/** Its progress while it is at work, then what came of it. */
function JobState({ job }: { readonly job: Job }) {
  const { jobs, menu } = useWords();
  const { common } = useText();
  const number = useNumber();
  const { id, kind, state, progress, tenants_done: done, reports, error } = job;
  const isCancellable = state === 'running' && kind !== 'retry';
  const cancel = () => bodyOf(api.DELETE('/api/v1/operator/jobs/{id}', { params: { path: { id } } }));
  const share = progress === null ? 0 : done + Math.min(1, progress.done / Math.max(1, progress.of));
  const percent = Math.round((100 * share) / Math.max(1, progress?.tenants ?? 1));
  const lines = [
    ...(done > 1 ? [`${menu.tenants}: ${number(done)}`] : []),
    ...reports.flatMap((report) => [
      `${report.tenant ?? menu.log}: ${jobs.states[report.outcome]}`,
      ...(report.error === null ? [] : [report.error]),
      ...report.differences.map((each) => [each.space, each.kind, each.id].filter((part) => part).join(' / ')),
    ]),
    ...(error === null ? [] : [error]),
  ];
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Badge color={COLORS[state]}>{jobs.states[state]}</Badge>
        {isCancellable && <Act label={common.cancel} act={cancel} />}
      </Group>
      {isCancellable && <Progress value={percent} animated aria-label={progress?.tenant ?? jobs.states.running} />}
      {said(lines.join('\n'))}
    </Stack>
  );
}

export function ParkedList({ parked }: { readonly parked: readonly Parked[] }) {
  const { parked: words, figures, jobs } = useWords();
  const number = useNumber();
  return parked.map(({ tenant, what, event_type: type, position, error, since }) => (
    <Alert key={tenant} color="red" variant="light" title={`${tenant} ${words.is}`}>
      <div className="text">{`${words.event(type, number(position))}\n${error}`}</div>
      <Group mt="xs">
        {/* Of the directory, only a release with a fix brings it back. */}
        {what === 'rows' && <Act label={jobs.retry} act={begin('retry', tenant)} />}
        <Link to="/operator/tenants/$tenant" params={{ tenant }}>
          {tenant}
        </Link>
        <span>
          {figures.since} <When at={since} />
        </span>
      </Group>
    </Alert>
  ));
}
