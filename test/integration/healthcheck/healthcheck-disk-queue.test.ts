/** Disks that do not answer: requests to other disks, and the number of libuv threads that such disks can occupy. */
import { expect, test } from 'vitest'
import { DiskQueue, mountPointsOf, NotAsked } from '../../../src/healthcheck/disk-queue.ts'
import { sleep } from '../../../src/lab/wait.ts'

/** Takes the first folder of a path as the file system. */
const MOUNTS = () => (path: string) => path.split('/')[1] ?? ''

function asking(mostSlow = 2) {
  const queue = new DiskQueue(MOUNTS, mostSlow)
  const begun: string[] = []
  const answers = new Map<string, () => void>()
  const ask = (path: string, signal?: AbortSignal) => {
    const asked = queue.ask(
      path,
      () => {
        begun.push(path)
        return new Promise<string>((resolve) => answers.set(path, () => resolve(path)))
      },
      signal,
    )
    asked.catch(() => {})
    return asked
  }
  return { begun, ask, answer: (path: string) => answers.get(path)?.() }
}

test('requests to disks run one after the other while the disks answer', async () => {
  const { begun, ask, answer } = asking()
  const first = ask('/a/1')
  const second = ask('/a/2')
  expect(begun).toEqual(['/a/1'])
  answer('/a/1')
  expect(await first).toBe('/a/1')
  expect(begun).toEqual(['/a/1', '/a/2'])
  answer('/a/2')
  expect(await second).toBe('/a/2')
})

test('a request without an answer no longer blocks other disks, and its file system gets no other request until it answers', async () => {
  const { begun, ask, answer } = asking()
  for (const path of ['/dead/1', '/dead/2', '/well/1']) void ask(path)
  await sleep(150)
  expect(begun).toEqual(['/dead/1', '/well/1'])
  answer('/well/1')
  answer('/dead/1')
  await sleep(0)
  expect(begun).toEqual(['/dead/1', '/well/1', '/dead/2'])
})

test('three disks that do not answer occupy three threads, and no further request starts until one answers', async () => {
  const { begun, ask, answer } = asking()
  for (const path of ['/a/1', '/b/1', '/c/1', '/d/1', '/e/1']) void ask(path)
  await sleep(400)
  expect(begun).toEqual(['/a/1', '/b/1', '/c/1'])
  answer('/b/1')
  await sleep(100)
  expect(begun).toEqual(['/a/1', '/b/1', '/c/1', '/d/1'])
})

test('a request that cannot start in time fails, and does not start later', async () => {
  const { begun, ask, answer } = asking()
  const abort = new AbortController()
  void ask('/a/1')
  const late = ask('/a/2', abort.signal)
  abort.abort()
  await expect(late).rejects.toThrow(NotAsked)
  await expect(ask('/a/3', abort.signal)).rejects.toThrow('/a/3 was not looked at')
  answer('/a/1')
  await sleep(0)
  expect(begun).toEqual(['/a/1'])
})

test('the deepest mount point comes first, and spaces in its name are read correctly', () => {
  const text = [
    '23 29 0:21 / / rw shared:7 - ext4 /dev/vda rw',
    '24 23 0:22 / /mnt/a\\040disk rw - nfs4 server:/x rw',
    '25 23 0:23 / /mnt rw - tmpfs tmpfs rw',
    '',
  ].join('\n')
  expect(mountPointsOf(text)).toEqual(['/mnt/a disk', '/mnt', '/'])
})
