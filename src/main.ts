/**
 * argv in, exit status out. The only place that ends the process; everything else returns. Nothing is imported before
 * the version of Node is known to be one that can.
 */
const OLDEST = [20, 19]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < (OLDEST[0] ?? 0) || (major === OLDEST[0] && minor < (OLDEST[1] ?? 0))) {
  process.stderr.write(`holdfast: Node.js ${OLDEST.join('.')} or newer is needed, this is ${process.versions.node}\n`)
  process.exit(1)
}

// No await out here: the bundle is CommonJS (docs/adr/0038). What goes wrong is nobody's to catch, and ends the process.
void import('./cli/program.ts').then(async ({ main }) => process.exit(await main(process.argv.slice(2))))
