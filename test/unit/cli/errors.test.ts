import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { unfitNode } from '#app/cli/errors.js';

const text = (file: string): string => readFileSync(resolve(__dirname, '../../..', file), 'utf8');

it.each(['20.19.0', '20.20.2', '22.23.3', '24.21.0', '26.10.0'])('Node %s will do', (version) => {
  expect(unfitNode(version)).toBeUndefined();
});

it.each(['18.20.0', '20.9.0'])('Node %s is refused, with what to take instead', (version) => {
  expect(unfitNode(version)).toMatch(/take Node 24/);
});

it('the image, .nvmrc and package.json name versions that will do', () => {
  expect(unfitNode(text('.nvmrc').trim())).toBeUndefined();
  const images = [...text('Dockerfile').matchAll(/^FROM node:([\d.]+)/gm)].map(([, version]) => version ?? '');
  expect(images).toHaveLength(2);
  expect(images.map(unfitNode)).toEqual([undefined, undefined]);
  expect(JSON.parse(text('package.json')).engines.node).toBe('>=20.19');
});
