# Loaded before each of memcached's tests: picks its ports below the kernel's range for outgoing connections, since a
# connection of the test could otherwise occupy the port of its next server.
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
