/** The page HOW-TO-CHECK of an export. A test runs its commands as they are printed. */

type CheckedExport = {
  readonly orderId: string;
  readonly tenant: string;
  readonly exportedAt: string;
  /** Names of events, such as `order-000000`, by why they have no proof. */
  readonly uncovered: readonly string[];
  readonly changed: readonly string[];
  readonly erased: readonly string[];
};

const LANGUAGES = [
  ['Node', 'node verifier/proof.mjs', ''],
  ['Python', 'python3 verifier/proof.py', ''],
  ['Go', './check', 'go build -o check verifier/proof.go\n'],
] as const;

const commandsOf = ([language, command, before]: (typeof LANGUAGES)[number]): string => `With ${language}:

\`\`\`sh
${before}wrong=0
for proof in proofs/*.json; do
  ${command} "$(cat key)" < "$proof" | cmp -s - "events/\${proof##*/}" || { echo "WRONG $proof"; wrong=1; }
done
[ "$wrong" = 0 ] && echo "All events with a proof are in the log that the key has signed."
\`\`\`
`;

const MAX_NAMED = 20;

function named(names: readonly string[], sentence: string): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  const first = names.slice(0, MAX_NAMED).map((name) => `\`${name}\``);
  return names.length === 0 ? '' : `\n**${sentence}** ${first.join(', ')}${more}.\n`;
}

const UNCOVERED =
  'No checkpoint covered these events when they were exported, so they have no proof; export again later:';
const ERASED =
  'Values of these events were erased since, as a law demands (DataErased in the log says who, when and why). They are here without these values, so they have no proof:';
const CHANGED = 'These events are not what the checkpoint covers: the log was changed. They have no proof:';

export const howToCheck = ({
  orderId,
  tenant,
  exportedAt,
  ...found
}: CheckedExport): string => `# How to check this export

Order ${orderId} of the tenant ${tenant}, exported at ${exportedAt}.

| File | What it is |
|---|---|
| \`replay.json\` | what happened to the order, step by step; made from the events |
| \`events/order-*.json\` | the events of the order, to the byte as the log has them, one in each file |
| \`events/delivery-*.json\` | the events of its deliveries to webhooks |
| \`proofs/*.json\` | for each event the proof that it is in the log that the checkpoint covers ([c2sp.org/tlog-proof](https://c2sp.org/tlog-proof)) |
| \`checkpoint\` | number of the log's events, and the root of the Merkle tree over them, signed (RFC 6962, Ed25519) |
| \`key\` | the public key, as a copy |
| \`verifier/\` | programs in Node, Python and Go that check a proof; they use nothing of the service |
${named(found.uncovered, UNCOVERED)}${named(found.erased, ERASED)}${named(found.changed, CHANGED)}
## 1. Is it the right key?

A forger of an export would put a forged key beside it. Compare \`key\` with the key that you have from elsewhere: the operator prints it with \`dynamic-assets audit keys\`, and should have given it to you before there was a dispute.

## 2. Is it the right checkpoint?

Compare \`checkpoint\` with the checkpoints that were kept where the operator cannot change them. One of the same size (its second line) must have the same root (its third). One of another size proves only that the operator kept a log: ask the operator to run \`dynamic-assets audit verify --checkpoint <yours>\` before witnesses.

## 3. Are the events in that log?

${LANGUAGES.map(commandsOf).join('\n')}
Each program prints the event that its proof is of, and \`cmp\` compares it with the file in \`events\`.

## 4. Are all events here?

\`\`\`sh
grep -ho '"revision":[0-9]*,"stream":"order-[^"]*"' events/order-*.json
\`\`\`

The events of an order are numbered from 0 without a gap, in their names and in themselves (\`revision\`, \`stream\`). So none can be left out before the last one. (With EventStoreDB, an append that the server abandoned may leave a gap.) The proofs name the place of each in the log (\`index\`), which is the order in which they were written.

## What this does not prove

- That an event says the truth: only that it was in the log, as it is here, when the checkpoint was signed.
- That nothing was changed before the first checkpoint that was kept elsewhere.
- That nothing came after the last event: later ones may be missing.
- \`replay.json\` itself. It tells what the events say, with names; where it matters, read the events. Problems are exact where \`problems_by\` is \`approval\`; elsewhere, whether a record exists is as of the export.
- What a receiver did with a delivery. An attempt has the SHA-256 of the body that was sent, and the first 4 KB of the answer.
- Deliveries that are not here: those that ended before the delivery log begins.
- Who a person or a program was, beyond that the service had checked a password or a secret.
`;
