local existed = call('EXISTS', META)
call('UNLINK', META, MESSAGES, PINNED, SCRATCH, REQUESTS, ORDER)
return {'ok', existed}
