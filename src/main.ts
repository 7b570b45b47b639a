/** argv in, exit status out. The only place that ends the process; everything else returns. */
import { main } from './cli/program.ts'

process.exit(await main(process.argv.slice(2)))
