/**
 * Passes the arguments to the program and its exit status to the process. Only this file ends the process. main.ts
 * imports nothing before it has checked the version of Node.
 */
const OLDEST = [20, 19]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < (OLDEST[0] ?? 0) || (major === OLDEST[0] && minor < (OLDEST[1] ?? 0))) {
  process.stderr.write(`holdfast: Node.js ${OLDEST.join('.')} or newer is needed, this is ${process.versions.node}\n`)
  process.exit(1)
}

// This file has no await at the top level, because the bundle is CommonJS (docs/adr/0038). An error is not caught here,
// and ends the process.
void import('./cli/program.ts').then(async ({ main }) => process.exit(await main(process.argv.slice(2))))
