/** Builds the server, where its sources have changed, and prints the path of the program. Needs a Go toolchain. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULE = 'github.com/FerretDB/FerretDB';

/** Where FerretDB 1.24 does not do what MongoDB does: mended here, so that nothing in src/ has to know of it. */
const MENDED = [
  {
    file: 'internal/handler/msg_update.go',
    changes: [
      // It reads, then writes: of two conditional updates of one document, both could find their condition true.
      [
        '	var matched, modified int32\n',
        '	updating.Lock()\n	defer updating.Unlock()\n\n	var matched, modified int32\n',
      ],
      ['// updateDocument iterate', 'var updating sync.Mutex\n\n// updateDocument iterate'],
      ['	"fmt"\n', '	"fmt"\n	"sync"\n'],
      // It closes its cursors at the end only: a hundred updates of one document each block each other for ever.
      ['		defer closer.Close()\n', ''],
      ['"update", iter, &u)\n', '"update", iter, &u)\n		closer.Close()\n'],
    ],
  },
  {
    // Indexes that are there already are taken out of a list by their place in it, which others taken out have changed.
    file: 'internal/handler/msg_createindexes.go',
    changes: [
      [
        'slices.Delete(filteredToCreate, i, i+1)',
        'slices.DeleteFunc(filteredToCreate, func(one backends.IndexInfo) bool { return one.Name == newIdx.Name })',
      ],
    ],
  },
  {
    // Not the expression in its index over _id, so each of its queries would read the whole collection.
    file: 'internal/backends/sqlite/metadata/metadata.go',
    changes: [[`"->'$._id'"`, '"->\\"_id\\""']],
  },
  {
    // It asks its indexes for an _id alone: each other query would read the whole collection, which tests share.
    file: 'internal/backends/sqlite/collection.go',
    changes: [
      [
        '	q += whereClause\n	q += prepareOrderByClause(params.Sort)\n',
        `	if v, _ := params.Filter.Get("s"); whereClause == "" {
		if space, ok := v.(string); ok {
			whereClause = fmt.Sprintf(" WHERE %s->\\"s\\" = ?", metadata.DefaultColumn)
			args = []any{string(must.NotFail(sjson.MarshalSingleValue(space)))}
		}
	}

	q += whereClause
	q += prepareOrderByClause(params.Sort)
`,
      ],
    ],
  },
];

const SOURCES = ['go.mod', 'go.sum', 'main.go'];

const sources = dirname(fileURLToPath(import.meta.url));
const hash = createHash('sha256');
for (const name of [...SOURCES, 'build.mjs']) hash.update(readFileSync(join(sources, name)));
const version = hash.digest('hex').slice(0, 16);
// Not below node_modules, which `npm ci` empties: it takes minutes to build.
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'dynamic-assets-tests', 'ferretdb');
const program = join(cache, version);

if (!existsSync(program)) {
  mkdirSync(cache, { recursive: true });
  const workplace = mkdtempSync(join(tmpdir(), 'ferretdb-'));
  const go = (...args) => {
    const env = { ...process.env, CGO_ENABLED: '0' };
    return execFileSync('go', args, { cwd: workplace, env, stdio: ['ignore', 'pipe', 2], encoding: 'utf8' });
  };
  for (const name of SOURCES) cpSync(join(sources, name), join(workplace, name));
  const { Dir } = JSON.parse(go('mod', 'download', '-json', MODULE));
  cpSync(Dir, join(workplace, 'mended'), { recursive: true });
  // Sources in the module cache are read-only.
  execFileSync('chmod', ['-R', 'u+w', workplace]);
  for (const { file, changes } of MENDED) {
    const path = join(workplace, 'mended', file);
    writeFileSync(path, changes.reduce(changed, readFileSync(path, 'utf8')));
  }
  go('mod', 'edit', '-replace', `${MODULE}=./mended`);
  // Two test runs may build at once: the first one to finish puts it in place.
  const built = `${program}.${process.pid}`;
  go('build', '-o', built, '.');
  renameSync(built, program);
  rmSync(workplace, { recursive: true });
}
process.stdout.write(program);

function changed(text, [from, to]) {
  if (!text.includes(from)) throw new Error(`FerretDB is not the release that is mended here: ${from}`);
  return text.replace(from, () => to);
}
