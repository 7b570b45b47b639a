/** A thread that does nothing but host checks, as the worker of the daemon does; started by startCheckWorker. */
import { parentPort } from 'node:worker_threads'
import type { CheckOrder } from '../../src/healthcheck/check-message.ts'
import { CheckService } from '../../src/healthcheck/check-service.ts'
import { probePorts } from './probe-ports.ts'

const service = new CheckService((news) => parentPort?.postMessage(news), probePorts)
parentPort?.on('message', (order: CheckOrder | { readonly kind: 'hang' }) => {
  if (order.kind !== 'hang') void service.obey(order)
  // A bug in a probe: the thread never comes back.
  else for (;;);
})
