/** Rebuilds, verifications and retries: the form that asks for one, and what becomes of them. */
import { Badge, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { bodyOf } from '../api/client';
import { Act, Asked } from '../app/Dialogs';
import { useNumber, When } from '../app/language';
import { Empty } from '../app/Page';
import { Rows } from '../app/Rows';
import { api, type Job } from './client';
import { useWords } from './words';

/** Work on all tenants, or on one. */
export function JobForm({ tenant }: { readonly tenant?: string }) {
  const { jobs } = useWords();
  const client = useQueryClient();
  const begin = (kind: 'verify' | 'rebuild') => async () => {
    await bodyOf(api.POST('/api/v1/operator/jobs', { body: { kind, ...(tenant === undefined ? {} : { tenant }) } }));
    await client.invalidateQueries({ queryKey: ['operator', 'jobs'] });
  };
  return (
    <Stack component="section" gap="xs">
      <Title order={2} size="h4">
        {jobs.title}
      </Title>
      <Group align="flex-end" gap="xs">
        <Act label={jobs.verify} act={begin('verify')} />
        <Asked label={jobs.rebuild} why={jobs.rebuildWhy} act={begin('rebuild')} color="indigo" />
      </Group>
      <Text size="sm">{jobs.verifyWhy}</Text>
    </Stack>
  );
}

const COLORS = { running: 'indigo', done: 'green', failed: 'red', cancelled: 'gray' } as const;

export function JobList({ jobs }: { readonly jobs: readonly Job[] }) {
  const words = useWords();
  if (jobs.length === 0) return <Empty>{words.jobs.none}</Empty>;
  return (
    <Rows
      label={words.jobs.title}
      minWidth={600}
      heads={[
        { label: words.jobs.what },
        { label: words.jobs.scope },
        { label: words.tenants.state },
        { label: words.jobs.by },
      ]}
      rows={jobs.map((job) => ({
        id: job.id,
        cells: [
          words.jobs[job.kind],
          job.tenant ?? words.jobs.everything,
          <JobState key="state" job={job} />,
          <div key="by">
            <bdi>{job.operator}</bdi>
            <Text size="sm">
              <When at={job.started_at} />
            </Text>
          </div>,
        ],
      }))}
    />
  );
}

/** Its progress while it is at work, then what came of it. */
function JobState({ job }: { readonly job: Job }) {
  const { jobs } = useWords();
  const number = useNumber();
  const client = useQueryClient();
  const cancel = async () => {
    await bodyOf(api.DELETE('/api/v1/operator/jobs/{id}', { params: { path: { id: job.id } } }));
    await client.invalidateQueries({ queryKey: ['operator', 'jobs'] });
  };
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Badge color={COLORS[job.state]} variant="dot" tt="none">
          {jobs.states[job.state]}
        </Badge>
        {job.state === 'running' && job.kind !== 'retry' && <Act label={jobs.cancel} act={cancel} />}
      </Group>
      {job.state === 'running' && job.kind !== 'retry' && <JobProgress job={job} />}
      {job.tenants_done > 0 && <Text size="sm">{jobs.done(number(job.tenants_done))}</Text>}
      {job.reports.map((report) => (
        <Report key={report.tenant} report={report} />
      ))}
      {job.kind === 'retry' && job.state === 'done' && job.reports.length === 0 && (
        <Text size="sm">{jobs.nothingParked}</Text>
      )}
      {job.error !== null && (
        <Text size="sm" className="text">
          {job.error}
        </Text>
      )}
    </Stack>
  );
}

function JobProgress({ job: { progress, tenants_done: tenantsDone } }: { readonly job: Job }) {
  const { jobs } = useWords();
  const share = progress === null || progress.of === 0 ? 0 : Math.min(1, progress.done / progress.of);
  const percent = progress === null ? 0 : Math.round(((tenantsDone + share) / Math.max(1, progress.tenants)) * 100);
  const label = progress?.tenant ?? jobs.states.running;
  return (
    <div>
      <Progress value={percent} animated aria-label={label} />
      <Text size="sm">
        {label}, {percent} %
      </Text>
    </div>
  );
}

function Report({ report }: { readonly report: Job['reports'][number] }) {
  const { jobs } = useWords();
  return (
    <div>
      <Text size="sm">
        {report.tenant}: {jobs.outcomes[report.outcome]}
      </Text>
      {report.error !== null && (
        <Text size="sm" className="text">
          {report.error}
        </Text>
      )}
      {report.differences.map((each) => (
        <Text key={JSON.stringify(each)} size="sm" className="text">
          {[each.space, each.kind, each.id].filter((part) => part).join(' / ')}
        </Text>
      ))}
    </div>
  );
}
