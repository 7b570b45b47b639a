/** Runs a thread that only runs health checks, as the daemon's worker does. startCheckWorker starts this thread. */
import { parentPort } from 'node:worker_threads'
import type { CheckOrder } from '../../src/healthcheck/check-message.ts'
import { CheckService } from '../../src/healthcheck/check-service.ts'
import { probePorts } from './probe-ports.ts'

const service = new CheckService((news) => parentPort?.postMessage(news), probePorts)
parentPort?.on('message', (order: CheckOrder | { readonly kind: 'hang' }) => {
  if (order.kind !== 'hang') void service.obey(order)
  // The endless loop simulates a bug in a probe: the thread never returns to its event loop.
  else for (;;);
})
