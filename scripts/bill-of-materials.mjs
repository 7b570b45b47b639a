/**
 * Reads npm's list of packages (CycloneDX) from standard input, and writes sbom.cdx.json and licences.txt to the folder
 * in the first argument. This file decides the parts that npm does not know: Node.js in tarball and image, and the C
 * library in the static programs. With --debian the script adds the packages of the image's base (lines `name version
 * architecture source`). No output depends on the time or place of the build. A package without a licence text stops
 * the release.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/** Version of musl in Debian 12, with which native/build.sh made native/prebuilds. */
const MUSL = '1.2.3'

const { positionals, values } = parseArgs({ allowPositionals: true, options: { debian: { type: 'string' } } })
const [folder] = positionals
if (folder === undefined) throw new Error('Cannot write a bill of materials: name the folder')
const root = join(import.meta.dirname, '..')
const bill = JSON.parse(readFileSync(0, 'utf8'))

// The npm packages in the bundle and beside it. The optional packages are left out: they are compiled on the machines
// that need them.
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const graph = new Map(bill.dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]))
const shipped = new Set([
  ...JSON.parse(readFileSync(join(root, 'dist', 'packages.json'), 'utf8')),
  ...[...graph.keys()].filter((ref) => ref.startsWith('node-gyp-build@')),
])
for (const each of shipped) if (!graph.has(each)) throw new Error(`Cannot find ${each} in package-lock.json`)

const node = spawnSync(join(root, 'scripts', 'pinned-node.sh'), ['--version'], { encoding: 'utf8' }).stdout.trim()
const added = [
  {
    'bom-ref': `node@${node}`,
    type: 'platform',
    name: 'node',
    version: node,
    description: 'Runtime, in the tarball and the image',
    purl: `pkg:github/nodejs/node@v${node}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
    licenses: [{ license: { id: 'MIT' } }],
  },
  {
    'bom-ref': `musl@${MUSL}`,
    type: 'library',
    name: 'musl',
    version: MUSL,
    purl: `pkg:generic/musl@${MUSL}`,
    cpe: `cpe:2.3:a:musl-libc:musl:${MUSL}:*:*:*:*:*:*:*`,
    description: 'C library, linked into the programs in native/prebuilds',
    licenses: [{ license: { id: 'MIT' } }],
  },
  ...(values.debian === undefined ? [] : debianPackages(values.debian)),
]

const component = { ...bill.metadata.component, name: 'holdfast' }
const self = component['bom-ref']
const components = [...bill.components.filter((each) => shipped.has(each['bom-ref'])), ...added]
const direct = [...shipped].filter((ref) =>
  Object.keys(manifest.dependencies).includes(ref.slice(0, ref.lastIndexOf('@'))),
)
const dependencies = [
  { ref: self, dependsOn: [...direct, ...added.map((each) => each['bom-ref'])] },
  ...[...shipped].map((ref) => ({ ref, dependsOn: graph.get(ref).filter((each) => shipped.has(each)) })),
]
const timestamp = new Date(Number(process.env.SOURCE_DATE_EPOCH ?? 0) * 1_000).toISOString()
const made = {
  ...bill,
  serialNumber: `urn:uuid:${uuidOf(JSON.stringify([components, dependencies]))}`,
  metadata: { ...bill.metadata, timestamp, component },
  components,
  dependencies,
}
writeFileSync(join(root, folder, 'sbom.cdx.json'), `${JSON.stringify(made, null, 2)}\n`)

const texts = components.filter(({ purl }) => purl?.startsWith('pkg:npm/')).map(licenceOf)
writeFileSync(join(root, folder, 'licences.txt'), [...texts, notice()].join(`\n${'-'.repeat(80)}\n\n`))

/**
 * Returns the Debian packages of the image. The licences of these packages are in the image:
 * /usr/share/doc/NAME/copyright.
 */
function debianPackages(file) {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.map((line) => {
    const [name, version, architecture, source] = line.split(' ')
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`
    return { 'bom-ref': purl, type: 'library', name, version, description: `Debian package of ${source}`, purl }
  })
}

/** Returns a UUID of version 8 (RFC 9562) that is made from the text, so that equal texts have equal UUIDs. */
function uuidOf(text) {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16)
  bytes[6] = (bytes[6] & 0x0f) | 0x80
  bytes[8] = (bytes[8] & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function licenceOf({ name, version, licenses }) {
  const package_ = join(root, 'node_modules', name)
  const file = readdirSync(package_).find((each) => /^(licen[cs]e|copying)/i.test(each))
  const id = JSON.parse(readFileSync(join(package_, 'package.json'), 'utf8')).license ?? licenses?.[0]?.license?.id
  if (file === undefined && id === undefined) throw new Error(`Cannot ship ${name}: it names no licence`)
  const text =
    file === undefined ? `(${id}; the package has no text of it)\n` : readFileSync(join(package_, file), 'utf8')
  return `${name} ${version} (${id})\n\n${text}`
}

function notice() {
  return [
    `Node.js ${node} (runtime/node of the tarball and of the image): MIT, and those of the libraries in it: runtime/LICENSE`,
    '',
    `musl ${MUSL} (the static programs in native/prebuilds)`,
    '',
    readFileSync(join(root, 'native', 'musl-licence.txt'), 'utf8'),
  ].join('\n')
}
