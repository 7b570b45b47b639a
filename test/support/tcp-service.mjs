// Runs a TCP service behind a virtual address. The service answers each line with its own name before the line, and
// prints how each connection ends. Arguments: NAME PORT.
import { createServer } from 'node:net'

const [, , name, port] = process.argv
createServer((socket) => {
  socket.setEncoding('utf8')
  socket.on('data', (text) => socket.write(text.replace(/^/gm, `${name} `).slice(0, -name.length - 1)))
  socket.on('error', ({ code }) => console.log(`error ${code}`))
  socket.on('end', () => console.log('end'))
}).listen({ host: '::', port: Number(port) }, () => console.log('ready'))
