/** `holdfast demo`. */
import type { Register } from '../command.ts'

export const registerDemo: Register = (program, end) => {
  program
    .command('demo')
    .description(
      'run three nodes in network namespaces and measure a failover; needs root, changes nothing outside these namespaces, takes seconds',
    )
    .action(async () => {
      const { demoCommand } = await import('../demo/demo.ts')
      end(await demoCommand())
    })
}
