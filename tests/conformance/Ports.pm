# Loaded before one of memcached's tests: takes its ports from below the range that the kernel gives to outgoing
# connections, or a test's own connection may sit on the port that its next server wants.
package Ports;
use strict;
use warnings;
use IO::Socket::INET;

INIT {
    no warnings 'redefine';
    *MemcachedTest::free_port = sub {
        my $type = shift || 'tcp';
        while (1) {
            my $port = 20000 + int(rand(10000));
            my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Proto => $type);
            return $port if $socket;
        }
    };
}

1;
